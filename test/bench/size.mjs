/**
 * `npm run bench -- size`: lists worlds of 25,000, 50,000 and 100,000 surveys, none of which can be read, and prints the peak memory of the
 * sync and the cost of a page. Memory is constant and the cost is linear when these columns do not grow with the number of surveys.
 */
import { inWorld, refuseSurveys, table } from './support.mjs'

const PAGE_SIZE = 50
const SIZES = process.argv.slice(2).map(Number)

const row = table('surveys|pages|seconds:1|CPU ms/page:1|peak memory MB:0')
for (const surveys of SIZES.length > 0 ? SIZES : [25_000, 50_000, 100_000])
  await inWorld(surveys, async ({ world, sync }) => {
    await refuseSurveys(world)
    const { wall, cpu, peak } = await sync({ mayFail: true })
    const pages = Math.ceil(surveys / PAGE_SIZE)
    row(surveys, pages, wall, (1_000 * cpu) / pages, peak)
  })
