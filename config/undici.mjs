// The parts of undici that src/http uses. The index of the package also loads fetch, WebSocket, caches and mocks, which takes
// 50 ms of CPU at every start. The build fails if src imports a name that is missing here.
import connect from 'undici/lib/api/api-connect.js'
import errors from 'undici/lib/core/errors.js'
import Agent from 'undici/lib/dispatcher/agent.js'
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import ProxyAgent from 'undici/lib/dispatcher/proxy-agent.js'

// As in the index, which adds more: tunnels are opened by `connect`. Requests go through `dispatch`, which every dispatcher has.
Dispatcher.prototype.connect = connect

export { Agent, errors, Pool, ProxyAgent }
