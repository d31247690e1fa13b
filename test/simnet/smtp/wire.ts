import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/**
 * A socket behind a wire of a given length: every chunk arrives half a round-trip time after it was
 * sent, in order, in both directions, whatever the amount. Timers of one duration fire in the order
 * in which they were set.
 */
export function delayed(socket: Socket, rttMs: number): Duplex {
  const halfMs = rttMs / 2
  const wire = new Duplex({
    // What is under way on a wire is not the sender's to hold back.
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
