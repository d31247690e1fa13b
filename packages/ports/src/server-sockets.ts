import type { Duplex } from 'node:stream'

/** Sockets to one server, over which its bytes are counted. */
export interface ServerSockets {
  /** Makes the socket of a new connection, as the driver would. */
  readonly open: () => Duplex
  /** Bytes received over all sockets, closed ones included; those of TLS as they were sent. */
  readonly receivedBytes: () => number
}
