// The parts of undici that src/http uses. The index of the package also loads fetch, WebSocket, caches and mocks, which takes
// 50 ms of CPU at every start. The build fails if src imports a name that is missing here.
import api from 'undici/lib/api/index.js'
import errors from 'undici/lib/core/errors.js'
import Agent from 'undici/lib/dispatcher/agent.js'
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import ProxyAgent from 'undici/lib/dispatcher/proxy-agent.js'

// As in the index: this gives the dispatchers their `request`.
Object.assign(Dispatcher.prototype, api)

export { Agent, errors, Pool, ProxyAgent }
