import { parentPort, workerData } from 'node:worker_threads'
import { createEgress } from '@plumbline/net/egress'
import { fetchBounded } from '@plumbline/net/http'
import { createResolver } from '@plumbline/net/resolver'
import type { SourceUpdate } from './update.ts'
import { updateAll, type UpdateChoice } from './update-all.ts'

/** Message to the worker thread. */
export interface UpdateRequest extends UpdateChoice {
  readonly dir: string
  /** CIDRs that may be connected to although they are not public. */
  readonly egressAllow: readonly string[]
  /** `ip` or `ip:port` of the resolvers. */
  readonly dnsServers: readonly string[]
}

/** A message from the thread: log lines, then the result. */
export type UpdateMessage =
  | {
      readonly kind: 'line'
      readonly level: 'info' | 'warn'
      readonly fields: object
      readonly text: string
    }
  | { readonly kind: 'updated'; readonly updates: readonly SourceUpdate[] }

/** A message to the thread, upon which the update ends: its time is over, or it is stopped. */
export type EndMessage = 'late' | 'stop'

const { dir, egressAllow, dnsServers, ...choice }: UpdateRequest = workerData
const egress = createEgress({ allow: [...egressAllow] })
const resolver = createResolver({ servers: [...dnsServers], egress })
const stop = new AbortController()
// Any message means that the update must end.
parentPort?.once('message', (word: EndMessage) =>
  stop.abort(word === 'late' ? new DOMException('the time is over', 'TimeoutError') : undefined),
)
const updates = await updateAll(
  {
    dir,
    fetch: (request) => fetchBounded({ ...request, egress, resolver }),
    log: {
      info: (fields, text) => send({ kind: 'line', level: 'info', fields, text }),
      warn: (fields, text) => send({ kind: 'line', level: 'warn', fields, text }),
    },
    signal: stop.signal,
  },
  choice,
)
send({ kind: 'updated', updates })

function send(message: UpdateMessage): void {
  parentPort?.postMessage(message, [])
}
