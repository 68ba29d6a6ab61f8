/** Which streams get colours and redrawn lines. */
import { expect, test } from 'vitest'
import { terminalFeatures } from '../../../src/settings/environment.js'

test.each([
  [{}, true, { colour: true, redraw: true }],
  [{}, false, { colour: false, redraw: false }],
  [{ TERM: 'dumb' }, true, { colour: false, redraw: false }],
  [{ NO_COLOR: '1' }, true, { colour: false, redraw: true }],
  [{ NO_COLOR: '' }, true, { colour: true, redraw: true }],
  [{ FORCE_COLOR: '1' }, false, { colour: true, redraw: false }],
  [{ FORCE_COLOR: '', NO_COLOR: '1' }, false, { colour: true, redraw: false }],
  [{ FORCE_COLOR: '0' }, true, { colour: false, redraw: true }],
])('%j, terminal: %j', (env, isTTY, features) => {
  expect(terminalFeatures(env, { isTTY })).toEqual(features)
})
