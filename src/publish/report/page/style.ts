/** The style of the page: system fonts, light and dark, wide and narrow, and A4. Nothing is loaded. */

const LIGHT = `--bg:#f7f7f5;--card:#fff;--ink:#1b1d21;--soft:#5c616b;--line:#e3e3df;--accent:#1f5fbf;--fill:#cfe0f7;--track:#ebebe7;--bad:#b3261e;--bad-bg:#fbeae8;--good:#1c7a3e;
--s0:#2a6acb;--s1:#8f7bbf;--s2:#cf6f63;--s3:#dfb562;--s4:#9cb0be;--s5:#d6d9dd`
const DARK = `--bg:#15171b;--card:#1d2025;--ink:#eceef1;--soft:#a2a8b3;--line:#32363d;--accent:#85b4ff;--fill:#24406b;--track:#30343b;--bad:#ff9a90;--bad-bg:#3b2220;--good:#79d49b;
--s0:#6da3f7;--s1:#b39ae6;--s2:#ee8377;--s3:#e0b95f;--s4:#6f8797;--s5:#464c55`

export const STYLE = `
:root{color-scheme:light dark;${LIGHT}}
@media (prefers-color-scheme:dark){:root{${DARK}}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;font-variant-numeric:tabular-nums}
.page{max-width:1240px;margin:0 auto;padding:0 24px 64px}
a{color:var(--accent);text-decoration-color:color-mix(in srgb,currentColor 35%,transparent);text-underline-offset:2px}
a:hover{text-decoration-color:currentColor}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:3px}
.skip{position:absolute;left:-999px}.skip:focus{left:8px;top:8px;background:var(--card);padding:6px 10px}body:has(.survey:target) .skip{display:none}
header{display:flex;flex-wrap:wrap;gap:4px 24px;align-items:baseline;padding:28px 0 14px;border-bottom:1px solid var(--line)}
h1{font-size:22px;font-weight:650;letter-spacing:-.01em;margin:0}
header p{margin:0;color:var(--soft)}
nav{margin-left:auto;display:flex;flex-wrap:wrap;gap:4px 18px}
h2{overflow-wrap:anywhere;font-size:19px;font-weight:650;letter-spacing:-.01em;margin:40px 0 12px}
h3{font-size:15px;font-weight:650;margin:28px 0 8px}
small,.rule,.meta,.back,caption{color:var(--soft);font-size:13px}
i{font-style:normal;color:var(--soft)}
.rule,.quiet,.empty{margin:8px 0;max-width:90ch}
.empty,.quiet{color:var(--soft)}
.unfinished{background:var(--bad-bg);border-radius:8px;padding:8px 14px;overflow-wrap:anywhere}.unfinished b{color:var(--bad)}
.ok::before{content:"✓";color:var(--good);font-weight:700}
.error{color:var(--bad);overflow-wrap:anywhere}
.figures{display:flex;flex-wrap:wrap;gap:10px 40px;margin:22px 0 0}
.figures dt{color:var(--soft);font-size:13px}
.figures dd{margin:0}
.figures b{font-size:24px;font-weight:600;letter-spacing:-.02em;margin-right:4px}
.cards{columns:3 340px;column-gap:14px}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:14px 16px 10px;margin:0 0 14px;break-inside:avoid}
.card h3{margin:0;font-size:15px}
.chip{display:inline-block;margin:1px 6px 1px 0;padding:0 9px;border-radius:1em;border:1px solid var(--line);font-size:13px;line-height:1.6}small.late{color:var(--bad)}.chip.u0{background:var(--bad);border-color:var(--bad);color:var(--card);font-weight:600}.chip.u1{background:var(--bad-bg);border-color:var(--bad);color:var(--bad);font-weight:600}.chip.u2{border-color:var(--soft)}
table{border-collapse:collapse;width:100%}
caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
th,td{text-align:right;font-weight:400;padding:6px 12px 6px 0;border-bottom:1px solid var(--line);vertical-align:baseline;overflow-wrap:anywhere}
thead th{color:var(--soft);font-size:13px;white-space:nowrap;vertical-align:bottom}
tr>:last-child{padding-right:0}
th a bdi{display:inline-block}
.changes small{display:block}
tbody tr:last-child>*{border-bottom:0}
tbody th,th:first-child,.t{text-align:left}
td:not(.t){white-space:nowrap}
.field{background:var(--card);border:1px solid var(--line);border-radius:8px;border-collapse:separate;border-spacing:0;padding:4px 16px}
:is(.field,.today) :is(td,tbody th){padding-top:8px;padding-bottom:8px;vertical-align:middle}
:is(.field,.today) small{display:block;line-height:1.3}
.today td:last-child{width:180px}
.field thead th{padding-right:12px}
.field td:has(progress){width:150px}
b{font-weight:600}
.status{font-size:13px;white-space:nowrap}
.status::before{content:"";display:inline-block;width:8px;height:8px;margin-right:5px;border-radius:50%;background:var(--s4)}
.status.fieldwork::before{background:var(--accent)}
.status.deviating_from_specs::before{background:var(--bad);border-radius:0}
.status.complete::before{background:var(--good)}
.status.pending::before,.status.draft::before{background:none;border:2px solid var(--s4)}
.outcome.complete{color:var(--good)}.outcome.failed,.outcome.killed,.outcome.partial{color:var(--bad);font-weight:650}
.outcome+small{display:block}
del{color:var(--soft)}ins{text-decoration:none;font-weight:600}
progress{appearance:none;-webkit-appearance:none;display:block;width:100%;min-width:100px;height:5px;margin:4px 0 5px;border:0;border-radius:3px;overflow:hidden;background:var(--track)}
progress::-webkit-progress-bar{background:var(--track)}progress::-webkit-progress-value{background:var(--accent)}progress::-moz-progress-bar{background:var(--accent)}
.spark{display:block;width:104px;height:28px;margin-left:auto}
.spark path{fill:none;stroke:var(--accent);stroke-width:2.4;vector-effect:non-scaling-stroke}
.strip{display:block;width:100%;min-width:120px;height:16px}
.strip path{fill:var(--s4)}.strip .fieldwork{fill:var(--accent)}.strip .deviating_from_specs{fill:var(--bad)}.strip .complete{fill:var(--good)}
.timeline td:nth-child(2){width:40%}
.chart{display:block;width:100%;height:240px;overflow:visible;margin:10px 0 30px;border-bottom:1px solid var(--soft)}
.chart text{font-size:12px;fill:var(--soft);transform:translateY(-4px);paint-order:stroke;stroke:var(--bg);stroke-width:4px;stroke-linejoin:round}
.chart .x{overflow:visible}.chart .x text{text-anchor:middle;transform:translateY(17px)}
.chart .mark{text-anchor:end;fill:var(--ink)}.chart .now{fill:var(--ink);font-weight:600;font-size:13px;transform:translateY(-9px)}
.chart path{fill:none;vector-effect:non-scaling-stroke;stroke-linecap:round;stroke-linejoin:round}
.chart .grid{stroke:var(--line)}.chart .line{stroke:var(--accent);stroke-width:2.2}.chart .dot{stroke:var(--accent);stroke-width:8}
.chart .target{stroke:var(--ink);stroke-width:1.2;stroke-dasharray:1 5}
.chart .cone{fill:var(--accent);opacity:.16}.chart .forecast{stroke:var(--accent);stroke-width:1.6;stroke-dasharray:5 5}
${[0, 1, 2, 3, 4, 5].map((band) => `.chart .s${band}{fill:var(--s${band});stroke:var(--bg)}li .s${band}{background:var(--s${band})}`).join('')}
ul{display:flex;flex-wrap:wrap;gap:4px 22px;margin:0;padding:0;list-style:none;font-size:14px}
li i{display:inline-block;width:11px;height:11px;border-radius:2px;margin-right:7px}
.sources td:nth-child(2){width:190px}.sources small{display:inline}
.times{display:flex;flex-wrap:wrap;gap:6px 36px;margin:0}.times dt{color:var(--soft);font-size:13px}.times dd{margin:0}
.sql{margin:6px 0 0;color:var(--soft);font-size:13px}
summary{cursor:pointer;color:var(--soft);font-size:13px;width:max-content}
.sql pre{overflow:auto;padding:12px;background:var(--bg);border:1px solid var(--line);border-radius:6px;color:var(--ink);font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.survey{display:none}.survey:target{display:block}
.page:has(.survey:target) .overview{display:none}.history{width:auto;max-width:100%}.history tbody th{white-space:nowrap}
.back{margin:22px 0 0}.survey h2{margin:6px 0 2px;font-size:24px}.meta{margin:0}.meta .status{margin-right:10px}
footer{margin-top:48px;padding-top:14px;border-top:1px solid var(--line);color:var(--soft);font-size:13px}
button,input,select{font:inherit;color:inherit;background:var(--card);border:1px solid var(--soft);border-radius:6px;padding:4px 10px}
button{cursor:pointer}
.tools{display:flex;flex-wrap:wrap;gap:8px 14px;align-items:center;margin:0 0 10px}
th button{all:unset;cursor:pointer}th button::after{content:" ↕";opacity:.5}th[aria-sort=ascending] button::after{content:" ↑";opacity:1}th[aria-sort=descending] button::after{content:" ↓";opacity:1}
th button:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.copy{font-size:13px;padding:2px 9px;margin:6px 0}
.read-out{min-height:1.5em;margin:-22px 0 14px;font-size:13px;color:var(--soft)}
.chart .hair{stroke:var(--ink);stroke-width:1;opacity:.6}
@media screen and (max-width:760px){
.page{padding:0 16px 48px}nav{margin-left:0}
.figures{gap:12px 28px}
.field{padding:0 14px}
:is(.field,.sources,.runs,.timeline,.beside,.today) thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
:is(.field,.sources,.runs,.timeline,.beside,.today),:is(.field,.sources,.runs,.timeline,.beside,.today) tbody{display:block}
:is(.field,.sources,.runs,.timeline,.beside,.today) tr{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:2px 16px;padding:12px 0;border-bottom:1px solid var(--line)}
:is(.field,.sources,.runs,.timeline,.beside,.today) tbody :is(th,td){display:block;border:0;padding:2px 0;text-align:left;max-width:none;width:auto!important;white-space:normal}
:is(.field,.sources,.timeline,.beside,.today) tbody th,:is(.sources,.timeline) td:nth-child(2),.today td{grid-column:1/-1}
:is(.field,.sources,.runs,.timeline,.beside,.today) td::before{display:block;color:var(--soft);font-size:12px}
.field td:nth-last-child(1)::before{content:"Read at"}.field td:nth-last-child(2)::before{content:"Drop-out, before"}.field td:nth-last-child(3)::before{content:"Incidence, before"}.field td:nth-last-child(4)::before{content:"Forecast"}.field td:nth-last-child(5)::before{content:"Pace, last day"}.field td:nth-last-child(6)::before{content:"28 days"}
.sources td:nth-last-child(1)::before{content:"Drop-out"}.sources td:nth-last-child(2)::before{content:"Incidence"}.sources td:nth-last-child(3)::before{content:"Forecast"}.sources td:nth-last-child(4)::before{content:"Gained"}.sources td:nth-last-child(5)::before{content:"Behind"}
.runs td:nth-last-child(1)::before{content:"Rejected rows"}.runs td:nth-last-child(2)::before{content:"Left over"}.runs td:nth-last-child(3)::before{content:"Surveys read"}.runs td:nth-last-child(4)::before{content:"Answers 429"}.runs td:nth-last-child(5)::before{content:"Requests"}.runs td:nth-last-child(6)::before{content:"Seconds"}
:is(.field,.today) td small{display:inline;margin-left:4px}.field td:nth-last-child(4) small{display:block;margin:0}.chart{height:200px}.field .spark{margin:0;width:140px}
}
@media print{
@page{size:A4;margin:14mm}
:root{${LIGHT};--bg:#fff}
body{font-size:9pt}small,.rule,caption,.meta,thead th,.status{font-size:8pt}th,td{padding-right:8px}.page{max-width:none;padding:0}.cards{columns:2}.spark{width:70px}.spark path{stroke-width:1.7}th button{display:contents}th button::after{display:none}.figures b{font-size:16pt}.field{padding:2px 8px}
nav,.sql,.tools,.copy,.back,.skip,.read-out{display:none}
.card,tr,.chart,.figures{break-inside:avoid}h2,h3{break-after:avoid}
.field,.card{border-color:#ccc}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
a{color:inherit;text-decoration:none}
.field td:last-child,.field thead th:last-child{display:none}
}
`
