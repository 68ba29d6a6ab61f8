/** The alerting rules of config/monitoring: promtool accepts them, and every rule has nights that it fires on and nights that it does not. */
import { expect, test } from 'vitest'
import { lacks } from '../../support/suite/lacks.js'
import { promtool } from './declared.js'

test.skipIf(lacks('promtool'))('promtool accepts the rules, and its tests of them pass', () => {
  const lint = ['check', 'rules', '--lint=all', '--lint-fatal', 'alerts.yaml']
  expect(promtool(...lint)).toEqual([expect.stringContaining('SUCCESS: 8 rules'), 0])
  expect(promtool('test', 'rules', 'alerts.test.yaml')).toEqual([expect.stringContaining('SUCCESS'), 0])
})
