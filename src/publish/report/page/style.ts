/** The style of the page: system fonts, light and dark, wide and narrow, and A4. Nothing is loaded. */

const LIGHT = `--bg:#f7f7f5;--card:#fff;--ink:#1b1d21;--soft:#5c616b;--line:#e3e3df;--accent:#1f5fbf;--fill:#cfe0f7;--track:#ebebe7;--bad:#b3261e;--bad-bg:#fbeae8;--warn:#7a5200;--warn-bg:#fdf2d8;--good:#1c7a3e;
--s0:#2a6acb;--s1:#8f7bbf;--s2:#cf6f63;--s3:#dfb562;--s4:#9cb0be;--s5:#d6d9dd`
const DARK = `--bg:#15171b;--card:#1d2025;--ink:#eceef1;--soft:#a2a8b3;--line:#32363d;--accent:#85b4ff;--fill:#24406b;--track:#30343b;--bad:#ff9a90;--bad-bg:#3b2220;--warn:#f0c36a;--warn-bg:#383018;--good:#79d49b;
--s0:#6da3f7;--s1:#b39ae6;--s2:#ee8377;--s3:#e0b95f;--s4:#6f8797;--s5:#464c55`

/** Tables whose rows are blocks on a phone. */
const STACKED = '.field,.sources,.quality,.runs,.timeline,.beside,.changes'

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
header{display:flex;flex-wrap:wrap;gap:4px 24px;align-items:baseline;padding:20px 0 12px;border-bottom:1px solid var(--line)}
h1{overflow-wrap:anywhere;font-size:22px;font-weight:650;letter-spacing:-.01em;margin:0}
header p{margin:0;color:var(--soft)}
nav{margin-left:auto;display:flex;flex-wrap:wrap;gap:4px 18px}
h2{overflow-wrap:anywhere;font-size:19px;font-weight:650;letter-spacing:-.01em;margin:34px 0 8px}
h3{font-size:15px;font-weight:650;margin:28px 0 8px}
small,.rule,.meta,.back,caption{color:var(--soft);font-size:13px}
i{font-style:normal;color:var(--soft)}
.rule,.quiet,.empty{margin:8px 0;max-width:90ch}
.empty,.quiet{color:var(--soft)}
.unfinished{background:var(--bad-bg);border-radius:8px;padding:8px 14px;overflow-wrap:anywhere}.unfinished b{color:var(--bad)}
.ok::before{content:"✓";color:var(--good);font-weight:700}
.error{color:var(--bad);overflow-wrap:anywhere}
.figures{display:flex;flex-wrap:wrap;gap:10px 40px;margin:16px 0 0}
.figures dt{color:var(--soft);font-size:13px}
.figures dd{margin:0}
.figures b{font-size:24px;font-weight:600;letter-spacing:-.02em;margin-right:4px}
.cards{columns:3 340px;column-gap:14px;margin-top:14px}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:14px 16px 10px;margin:0 0 14px;break-inside:avoid}
.card h3{margin:0;font-size:15px}
.chip{display:inline-block;margin:1px 6px 1px 0;padding:0 9px;border-radius:1em;border:1px solid var(--line);font-size:13px;line-height:1.6;overflow-wrap:anywhere}small.late{color:var(--bad)}.chip.u0,.chip.u1{background:var(--bad-bg);border-color:var(--bad);color:var(--bad);font-weight:600}.chip.u0{background:var(--bad);color:var(--card)}.chip.u2{background:var(--warn-bg);border-color:var(--warn);color:var(--warn)}
.today{margin:0;padding:0;list-style:none}.today li{border-bottom:1px solid var(--line)}.today li:last-child{border:0}
.today summary{display:grid;grid-template-columns:12px minmax(0,5fr) minmax(0,6fr) 170px;gap:0 14px;align-items:center;padding:6px 0;min-height:56px;width:auto;font-size:inherit;color:inherit;list-style:none}
.today summary::-webkit-details-marker{display:none}.today summary::before{content:"▸";color:var(--soft)}.today [open]>summary::before{content:"▾"}
.today summary>:last-child{text-align:right}.today small{line-height:1.3}.today summary>:first-child small{display:block}
.today [data-of]{padding:0 0 14px 26px}.today [data-of] p{margin:4px 0}:is(.survey,.today) .figures{display:grid;grid-template-columns:repeat(4,minmax(0,1fr));gap:12px 20px}:is(.survey,.today) .figures small{display:block}.survey .figures b{font-size:20px}.today .figures{grid-template-columns:repeat(5,minmax(0,1fr));margin:6px 0 10px;gap:6px 20px}.today .figures b{font-size:16px;letter-spacing:0}
@media (min-width:1160px){.survey .figures{grid-template-columns:none;grid-auto-flow:column;grid-auto-columns:minmax(0,1fr)}}
table{border-collapse:collapse;width:100%}
caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
th,td{text-align:right;font-weight:400;padding:6px 12px 6px 0;border-bottom:1px solid var(--line);vertical-align:baseline;overflow-wrap:anywhere}
thead th{color:var(--soft);font-size:13px;white-space:nowrap;vertical-align:bottom}
tr>:last-child{padding-right:0}
th a bdi{display:inline-block}
.changes small{display:block}.until{white-space:nowrap}
tbody tr:last-child>*{border-bottom:0}
tbody th,th:first-child,.t{text-align:left}
td:not(.t){white-space:nowrap}
.field{background:var(--card);border:1px solid var(--line);border-radius:8px;border-collapse:separate;border-spacing:0;padding:4px 16px}
.field :is(td,tbody th){padding-top:8px;padding-bottom:8px;vertical-align:middle}
.field small{display:block;line-height:1.3}
.field thead th{padding-right:12px}
.field tbody th{min-width:190px}.field small.due{white-space:normal;max-width:40ch;margin-left:auto;text-wrap:balance}.field th .status{display:block}
.field td:has(progress){width:150px}.field td:has(progress) small{display:inline}
b{font-weight:600}
.status{font-size:13px;white-space:nowrap}
.status::before{content:"";display:inline-block;width:8px;height:8px;margin-right:5px;border-radius:50%;background:var(--s4)}
.status.fieldwork::before{background:var(--accent)}
.status.deviating_from_specs::before{background:var(--bad);border-radius:0}
.status.complete::before{background:var(--good)}.status.data_processing::before{background:var(--s1)}
.status:is(.pending,.draft,.user_demo)::before{background:none;border:2px solid var(--s4)}.status.draft::before{border-color:var(--s5)}.status.user_demo::before{border-color:var(--s3)}
.outcome.complete{color:var(--good)}.outcome.failed,.outcome.killed,.outcome.partial{color:var(--bad);font-weight:650}
.outcome+small{display:block}
del{color:var(--soft)}ins{text-decoration:none;font-weight:600}
progress{appearance:none;-webkit-appearance:none;display:block;width:100%;min-width:100px;height:5px;margin:4px 0 5px;border:0;border-radius:3px;overflow:hidden;background:var(--track)}
progress::-webkit-progress-bar{background:var(--track)}progress::-webkit-progress-value{background:var(--accent)}progress::-moz-progress-bar{background:var(--accent)}
.spark{display:block;width:104px;height:28px;margin-left:auto}
.spark path{fill:none;stroke:var(--accent);stroke-width:2.4;vector-effect:non-scaling-stroke}
.strip{display:block;width:100%;min-width:120px;height:16px}
.strip path{fill:var(--s4)}.strip .draft{fill:var(--s5)}.strip .user_demo{fill:var(--s3)}.strip .data_processing{fill:var(--s1)}.strip .fieldwork{fill:var(--accent)}.strip .deviating_from_specs{fill:var(--bad)}.strip .complete{fill:var(--good)}
@media print,(min-width:761px){:is(.timeline,.changes){table-layout:fixed}.changes :is(th,td):nth-child(2){width:57%}.timeline :is(th,td):nth-child(2){width:38%}.timeline :is(th,td):nth-child(3){width:17%}.timeline :is(th,td):last-child{width:19%}}
details :is(.timeline,.changes) thead :is(th,.axis){height:0;padding-block:0;border:0;font-size:0;overflow:hidden}.axis{display:block;width:100%;height:1.3em;overflow:visible}.axis text{fill:var(--soft);font-size:12px}.axis line{stroke:var(--soft)}.legend{margin:8px 0}
.chart{display:block;width:100%;height:240px;overflow:visible;margin:10px 0 30px;border-bottom:1px solid var(--soft)}
.chart text{font-size:12px;fill:var(--soft);transform:translateY(-4px);paint-order:stroke;stroke:var(--bg);stroke-width:4px;stroke-linejoin:round}
.chart .x{overflow:visible}.chart .x text{text-anchor:middle;transform:translateY(17px)}
.chart .mark{text-anchor:end;fill:var(--ink)}.chart .now{fill:var(--ink);font-weight:600;font-size:13px;transform:translateY(-9px)}
.chart path{fill:none;vector-effect:non-scaling-stroke;stroke-linecap:round;stroke-linejoin:round}
.chart .grid{stroke:var(--line)}.chart .line{stroke:var(--accent);stroke-width:2.2}.chart .reconstructed{stroke:var(--accent);stroke-width:2.2;stroke-dasharray:1 5}.chart .dot{stroke:var(--accent);stroke-width:8}
.chart .target{stroke:var(--ink);stroke-width:1.2;stroke-dasharray:1 5}.chart .plan{stroke:var(--soft);stroke-width:1.2}
.legend i.target,.legend i.plan,.legend i.forecast,.legend i.line,.legend i.reconstructed{height:0;width:22px;border-radius:0;vertical-align:4px;border-top:2px dotted var(--ink)}.legend i.plan{border-top:1px solid var(--soft)}.legend i.forecast{border-top:2px dashed var(--accent)}.legend i.line{border-top:2px solid var(--accent)}.legend i.reconstructed{border-top-color:var(--accent)}.legend i.cone{background:var(--fill)}
.chart .cone{fill:var(--accent);opacity:.16}.chart .forecast{stroke:var(--accent);stroke-width:1.6;stroke-dasharray:5 5}
${[0, 1, 2, 3, 4, 5].map((band) => `.chart .s${band}{fill:var(--s${band});stroke:var(--bg)}li .s${band}{background:var(--s${band})}`).join('')}
.layers{display:grid;grid-template-columns:minmax(0,1fr) 250px;gap:0 28px;align-items:center}.layers>ul{display:block;line-height:1.7}.layers>ul:only-child{grid-column:1/-1}
ul{display:flex;flex-wrap:wrap;gap:4px 22px;margin:0;padding:0;list-style:none;font-size:14px}
li i[class]{display:inline-block;width:11px;height:11px;border-radius:2px;margin-right:7px}
.sources td:nth-child(2){width:190px}.sources small{display:inline}
.times{display:flex;flex-wrap:wrap;gap:6px 36px;margin:0}.times dt{color:var(--soft);font-size:13px}.times dd{margin:0}
body:not(:has(#queries:checked)) :is(.sql,.tech){display:none}
.sql{margin:6px 0 0;font-size:13px}
summary{cursor:pointer;color:var(--soft);font-size:13px;width:max-content}
.sql pre{white-space:pre-wrap;overflow-wrap:anywhere;padding:12px;background:var(--bg);border:1px solid var(--line);border-radius:6px;color:var(--ink);font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.survey{display:none}.survey:target{display:block}
.page:has(.survey:target) .overview{display:none}.history{width:auto;max-width:100%}.history tbody th{white-space:nowrap}
.back{margin:22px 0 0}.survey h2{margin:6px 0 2px;font-size:24px}.meta{margin:0}.figures+.meta{margin-top:8px}.meta .status{margin-right:10px}
footer{margin-top:48px;padding-top:14px;border-top:1px solid var(--line);color:var(--soft);font-size:13px}
footer label{cursor:pointer}
button,input[type=search]{font:inherit;color:inherit;background:var(--card);border:1px solid var(--soft);border-radius:6px;padding:4px 10px}
button{cursor:pointer}
.tools{display:flex;flex-wrap:wrap;gap:8px 14px;align-items:center;margin:0 0 10px}
th button{all:unset;cursor:pointer}th button::after{content:" ↕";opacity:.5}th[aria-sort]{color:var(--ink)}th[aria-sort=ascending] button::after,th[aria-sort=ascending]:not(:has(button))::after{content:" ↑";opacity:1}th[aria-sort=descending] button::after,th[aria-sort=descending]:not(:has(button))::after{content:" ↓";opacity:1}
th button:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.copy{font-size:13px;padding:2px 9px;margin:6px 0}
.read-out{min-height:1.5em;margin:-22px 0 14px;font-size:13px;color:var(--soft)}
.chart .hair{stroke:var(--ink);stroke-width:1;opacity:.6}
@media screen and (max-width:760px){
.page{padding:0 16px 32px}header{padding:14px 0 10px}nav{margin-left:0}h2{margin:26px 0 6px}h3{margin:20px 0 6px}footer{margin-top:28px}
.figures{gap:8px 24px}.figures b{font-size:20px}:is(.survey,.today) .figures{grid-template-columns:repeat(2,minmax(0,1fr));gap:8px 20px}
.today summary{grid-template-columns:12px minmax(0,1fr);gap:4px 8px;padding:9px 0}.today summary>*{grid-column:2}.today summary>:last-child{text-align:left}.today [data-of]{padding-left:20px}.today summary>:first-child small{display:inline-block}.today summary>:first-child b{margin-right:6px}
.field{padding:0 14px}
:is(${STACKED}) thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
:is(${STACKED}),:is(${STACKED}) tbody{display:block}
:is(${STACKED}) tr{display:flex;flex-wrap:wrap;gap:0 14px;align-items:baseline;padding:9px 0;border-bottom:1px solid var(--line)}:is(${STACKED}) tr:last-child{border:0}:is(${STACKED}) tr[hidden]{display:none}
:is(${STACKED}) tbody :is(th,td){display:block;border:0;padding:1px 0;text-align:left;width:auto;white-space:normal}
:is(${STACKED}) tbody th,.timeline tbody td:nth-child(2){flex-basis:100%}
:is(.field,.today) progress,.sources progress{display:inline-block;width:84px;min-width:0;margin:0 8px 2px 0}.field td:has(progress),.sources td:nth-child(2){flex-basis:100%}
:is(.field,.sources,.quality,.runs) td::before{color:var(--soft);font-size:13px}:is(.field,.sources,.changes) small{display:inline}:is(.field td,.changes) small{display:inline;margin-left:6px}.field th :is(a,small,.status){display:inline-block;margin-right:6px}
.field td:nth-last-child(-n+2),.field td:has(.spark){display:none!important}.field td:nth-last-child(3)::before{content:"Forecast "}.field td:nth-last-child(4)::before{content:"Pace "}.field small.due{display:block;max-width:none;margin-left:0}.field td:has(.due){flex-basis:100%}
.quality td::before{content:attr(data-head) " "}
.sources td:nth-last-child(1)::before{content:"Drop-out "}.sources td:nth-last-child(2)::before{content:"Incidence "}.sources td:nth-last-child(3)::before{content:"Forecast "}.sources td:nth-last-child(4)::before{content:"Gained "}.sources td:nth-last-child(5)::before{content:"Behind "}
.runs td:nth-last-child(1)::before{content:"Rejected rows "}.runs td:nth-last-child(2)::before{content:"Left over "}.runs td:nth-last-child(3)::before{content:"Surveys read "}.runs td:nth-last-child(4)::before{content:"Answers 429 "}.runs td:nth-last-child(5)::before{content:"Requests "}.runs td:nth-last-child(6)::before{content:"Seconds "}
.timeline thead{position:static;width:auto;height:auto;overflow:visible;clip-path:none}.timeline thead,.timeline thead tr{display:block;padding:0}.timeline thead th{display:none}.timeline thead th:nth-child(2){display:block;padding:0;border:0}.timeline thead th::after{display:none}
.changes tbody td:nth-child(2){flex:1 1 0;min-width:55%}.timeline tbody td:last-child{margin-left:auto;white-space:nowrap;color:var(--soft);font-size:13px}
.layers{display:block}.chart{height:200px}.copy{display:none}
}
@media print{
@page{size:A4;margin:14mm 14mm 18mm}
:root{${LIGHT};--bg:#fff}
body{font-size:9pt}small,.rule,caption,.meta,thead th,.status,.chip{font-size:8pt}th,td{padding-right:8px}.page{max-width:none;padding:0}.cards{columns:auto}.spark{width:70px}.spark path{stroke-width:1.7}th button{display:contents}th button::after{display:none}.figures b{font-size:16pt}.figures dt,.times dt,summary,footer{font-size:8pt}.today .figures b{font-size:10pt}.today .figures{gap:2px 14px;margin:2px 0 4px}.axis text{font-size:7pt}.today [data-of]{padding-bottom:6px}.layers{grid-template-columns:minmax(0,1fr) max-content}.field{border:0;border-radius:0;padding:0;background:none}.field tbody th{min-width:38mm}.field td:has(progress){width:105px}.field small.due{min-width:32mm}
nav,.sql,.tools,.copy,.back,.skip,.read-out,footer label,[data-of]>a{display:none!important}
.card,tr,.chart,.figures,.layers,.today li{break-inside:avoid}h2,h3{break-after:avoid;break-inside:avoid}.rule:has(+.today),.rule:has(+.tools){break-after:avoid}
section>:is(h2,h3)::after{content:"";display:block;height:32mm;margin-bottom:-32mm}
details::details-content{content-visibility:visible;display:block}summary{list-style:none;break-after:avoid}.today summary{grid-template-columns:minmax(0,5fr) minmax(0,6fr) 130px;min-height:0}.today summary::before{display:none}.today [data-of]{padding-left:0}
.card{border-color:#ccc}.more>summary{display:none}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
a{color:inherit;text-decoration:none}
}
`

/** The date and the number of each printed page. Every character with a meaning in CSS is escaped. */
export const pageNumbers = (title: string): string => {
  const text = title.replaceAll(/[^A-Za-z0-9 ]/gu, (one) => `\\${one.codePointAt(0)?.toString(16)} `)
  return `@media print{@page{font:8pt sans-serif;color:#5c616b;@bottom-left{content:"${text}"}@bottom-right{content:counter(page) " of " counter(pages)}}}`
}
