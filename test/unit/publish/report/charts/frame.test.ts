/** Paths are short, and hold the exact numbers. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { areaPath, barsPath, linePath, type Point } from '../../../../../src/publish/report/charts/frame.js'

/** Reads a path as a browser does. */
const pointsOf = (path: string): Point[] => {
  const [first = '', steps = ''] = path.slice(1).split(/[lh]/)
  const numbers = (text: string) => (text.match(/-?\d+/g) ?? []).map(Number)
  const points = [numbers(first)]
  const moves = path.includes('h') ? [] : numbers(steps)
  for (let at = 0; at < moves.length; at += 2) {
    const [x = 0, y = 0] = points.at(-1) ?? []
    points.push([x + (moves[at] ?? 0), y + (moves[at + 1] ?? 0)])
  }
  return points.map(([x = 0, y = 0]): Point => [x, y === 0 ? 0 : -y])
}

/** `1:3 2:0` */
const points = (text: string): Point[] =>
  text.split(' ').map((point): Point => {
    const [x = 0, y = 0] = point.split(':').map(Number)
    return [x, y]
  })

describe('a line', () => {
  test.each<[string, Point[]]>([
    ['', []],
    ['M3-7h0', points('3:7')],
    ['M0-5l7-12 7 3', points('0:5 7:17 14:14')],
    ['M0 0l1 0 1-2', points('0:0 1:0 2:2')],
  ])('is %s', (path, given) => {
    expect(linePath(given)).toBe(path)
  })

  test('can be read back', () => {
    const point = fc.tuple(fc.nat(20_000), fc.integer({ min: -1_000_000, max: 1_000_000 }))
    fc.assert(
      fc.property(fc.array(point, { minLength: 1, maxLength: 60 }), (given) => {
        expect(pointsOf(linePath(given))).toEqual(given)
      }),
    )
  })
})

test('an area goes down to the axis', () => {
  expect(areaPath(points('2:5 4:9'))).toBe('M2-5l2-4V0H2z')
})

test('bars leave out days without a gain', () => {
  expect(barsPath(points('1:3 2:0 3:12'))).toBe('M1 0v-3M3 0v-12')
})
