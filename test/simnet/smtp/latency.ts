import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/**
 * A socket with simulated latency: every chunk arrives half a round-trip time after it was sent, in
 * order, in both directions, with unlimited bandwidth. Timers of the same duration fire in the order in
 * which they were set.
 */
export function withLatency(socket: Socket, rttMs: number): Duplex {
  const halfMs = rttMs / 2
  const wire = new Duplex({
    // No backpressure: data in transit does not stop the sender.
    write: (chunk: Buffer, _encoding, done) => {
      setTimeout(() => {
        if (!socket.destroyed) socket.write(chunk)
      }, halfMs)
      done()
    },
    final: (done) => {
      setTimeout(() => socket.end(), halfMs)
      done()
    },
    read: () => undefined,
    destroy: (error, done) => {
      setTimeout(() => socket.destroy(), halfMs)
      done(error)
    },
  })
  socket.on('data', (chunk) => setTimeout(() => wire.destroyed || wire.push(chunk), halfMs))
  socket.on('end', () => setTimeout(() => wire.destroyed || wire.push(null), halfMs))
  socket.on('error', () => wire.destroy())
  socket.on('close', () => wire.destroy())
  return wire
}
