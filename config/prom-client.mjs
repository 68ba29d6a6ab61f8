// The parts of prom-client that src/monitoring uses. Its index also loads a cluster, OpenTelemetry and quantiles.
import Gauge from 'prom-client/lib/gauge.js'
import Registry from 'prom-client/lib/registry.js'

export { Gauge, Registry }
