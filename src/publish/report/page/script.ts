/**
 * What the page can do with JavaScript: filter and sort the surveys in the field, copy SQL, and read a chart out by pointer or arrow keys.
 * Without JavaScript, everything can still be read. The script is text, because it runs in a browser, which the types of this project do
 * not describe.
 */
export const SCRIPT = `'use strict'
const all = (selector, within = document) => [...within.querySelectorAll(selector)]
const make = (name, properties) => Object.assign(document.createElement(name), properties)

for (const table of all('table.field')) {
  const body = table.tBodies[0]
  const rows = [...body.rows]
  const input = make('input', { type: 'search', placeholder: 'Filter surveys' })
  input.setAttribute('aria-label', 'Filter surveys by title, project or account')
  const found = make('output', {})
  input.addEventListener('input', () => {
    const words = input.value.toLowerCase().split(/\\s+/)
    for (const row of rows) {
      const text = all('th, .t', row).map((cell) => cell.textContent.toLowerCase()).join(' ')
      row.hidden = !words.every((word) => text.includes(word))
    }
    found.textContent = input.value === '' ? '' : rows.filter((row) => !row.hidden).length + ' of ' + rows.length
  })
  const order = table.previousElementSibling
  const tools = make('div', { className: 'tools' })
  tools.append(input, found)
  table.before(tools)
  for (const head of all('th[data-order]', table)) {
    const places = head.dataset.order === '' ? [] : head.dataset.order.split(' ').map(Number)
    const button = make('button', { type: 'button', textContent: head.textContent })
    head.replaceChildren(button)
    button.addEventListener('click', () => {
      const direction = head.getAttribute('aria-sort') === 'ascending' ? 'descending' : 'ascending'
      for (const other of all('th[aria-sort]', table)) other.removeAttribute('aria-sort')
      head.setAttribute('aria-sort', direction)
      const sorted = direction === 'ascending' ? places : places.toReversed()
      order.hidden = true
      body.append(...sorted.map((place) => rows[place]))
    })
  }
}

for (const pre of all('.sql pre')) {
  const button = make('button', { type: 'button', className: 'copy', textContent: 'Copy SQL' })
  pre.before(button)
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(pre.textContent + ';')
      button.textContent = 'Copied'
    } catch {
      getSelection().selectAllChildren(pre)
      button.textContent = 'Selected'
    }
    setTimeout(() => { button.textContent = 'Copy SQL' }, 1500)
  })
}

// On paper what is folded is open, also in browsers that cannot do it by style.
let opened = []
addEventListener('beforeprint', () => {
  opened = all('details:not([open])')
  for (const fold of opened) fold.open = true
})
addEventListener('afterprint', () => {
  for (const fold of opened) fold.open = false
})

const days = new Intl.DateTimeFormat(document.body.dataset.locale, { dateStyle: 'medium', timeZone: 'UTC' })
const counts = new Intl.NumberFormat(document.body.dataset.locale)
// A path holds whole numbers: the first point, and relative steps from point to point.
const pointsOf = (path) => {
  const [first, steps = ''] = path.getAttribute('d').split(/[VH]/)[0].slice(1).split('l')
  const numbers = (text) => (text.match(/-?\\d+/g) ?? []).map(Number)
  const points = [numbers(first)]
  const moves = numbers(steps)
  for (let at = 0; at < moves.length; at += 2) {
    const [x, y] = points[points.length - 1]
    points.push([x + moves[at], y + moves[at + 1]])
  }
  return points.map(([x, y]) => [x, -y])
}
for (const chart of all('.chart[data-bands]')) {
  const names = chart.dataset.bands.split(',')
  const [from, width] = chart.dataset.x.split(' ').map(Number)
  const lines = all('.line, [class^=s]', chart).map(pointsOf)
  const readOut = make('p', { className: 'read-out' })
  readOut.setAttribute('role', 'status')
  chart.after(readOut)
  const hair = document.createElementNS(chart.namespaceURI, 'line')
  hair.setAttribute('class', 'hair')
  hair.setAttribute('y2', '100%')
  let place = lines[0].length
  const show = (next) => {
    place = Math.max(0, Math.min(lines[0].length - 1, next))
    const x = lines[0][place][0]
    hair.setAttribute('x1', (100 * x) / width + '%')
    hair.setAttribute('x2', (100 * x) / width + '%')
    chart.append(hair)
    const values = lines.map((line, band) => line[place][1] - (lines[band + 1]?.[place][1] ?? 0))
    readOut.textContent = days.format((from + x) * 86400000) + ': ' + values.map((value, band) => counts.format(value) + ' ' + names[band]).join(', ')
  }
  chart.addEventListener('pointermove', (event) => {
    const box = chart.getBoundingClientRect()
    const x = ((event.clientX - box.left) / box.width) * width
    const distances = lines[0].map(([at]) => Math.abs(at - x))
    show(distances.indexOf(Math.min(...distances)))
  })
  chart.tabIndex = 0
  chart.addEventListener('keydown', ({ key }) => {
    if (key === 'ArrowLeft') show(place - 1)
    if (key === 'ArrowRight') show(place + 1)
  })
}
`
