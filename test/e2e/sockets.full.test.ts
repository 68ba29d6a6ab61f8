/**
 * Also DuckDB's library, which JavaScript does not see, sends nothing. In a network namespace that has only loopback, the kernel counts
 * each attempt to reach another address.
 */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { MAIN } from '../support/command/command.js'
import { temporaryDirectory } from '../support/files/temporary.js'
import { lacks } from '../support/suite/lacks.js'

const LOOPBACK_ONLY = ['--net', 'sh', '-e', '-c']
const MAY_MAKE = spawnSync('unshare', [...LOOPBACK_ONLY, 'ip link set lo up']).status === 0

/** Runs lines of the shell in such a namespace. Returns how many packets had no route. */
const unrouted = async (lines: string): Promise<number> => {
  const script = `ip link set lo up
${lines}
awk '/^Ip:/ { row++; for (at = 1; at <= NF; at++) if (row == 1 && $at == "OutNoRoutes") column = at; if (row == 2) print "unrouted", $column }' /proc/net/snmp`
  const { status, stdout, stderr } = spawnSync('unshare', [...LOOPBACK_ONLY, script], {
    cwd: await temporaryDirectory(),
    encoding: 'utf8',
    env: { PATH: process.env.PATH, NODE: process.execPath, MAIN },
  })
  expect(status, `${stdout}${stderr}`).toBe(0)
  return Number(/^unrouted (\d+)$/m.exec(stdout)?.[1])
}

/** Syncs from a reference server in the same namespace, and runs every command that reads. */
const NIGHT = `
"$NODE" "$MAIN" reference-server --port 0 --surveys 4 --rate-limit 10000/60s > server.json &
server=$!
trap 'kill $server' EXIT
until [ -s server.json ]; do kill -0 $server; done
of() { "$NODE" -p "const { base_url, accounts } = JSON.parse(require('fs').readFileSync('server.json', 'utf8').split('\\n')[0]); $1"; }
export FIELDWORK_SYNC_BASE_URL=$(of base_url) FIELDWORK_SYNC_API_ID=$(of 'accounts[0].id') FIELDWORK_SYNC_API_TOKEN=$(of 'accounts[0].token')
export FIELDWORK_SYNC_WAREHOUSE=warehouse
run() { "$NODE" "$MAIN" "$@"; }
run check
run sync --publish duckdb,parquet,report
run status
run verify
run query 'FROM surveys' --output surveys.xlsx
run export --format parquet --out files
run report --out report.html
run schema`

const ELSEWHERE = `"$NODE" -e "require('node:net').connect(443, '192.0.2.1').on('error', () => {})"`

test.skipIf(lacks('ip') || lacks('network namespaces', MAY_MAKE))(
  'a night sends no packet to another address than those of the settings',
  async () => {
    expect(await unrouted(ELSEWHERE)).toBeGreaterThan(0)
    expect(await unrouted(NIGHT)).toBe(0)
  },
)
