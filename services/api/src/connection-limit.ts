import type { Socket } from 'node:net'
import { networkOf } from './network.ts'

/** Limits the open connections of each address. */
export interface ConnectionLimit {
  /** Counts a connection until it closes; false if its address is at its limit. */
  admit(socket: Socket): boolean
}

/** The limit, and the exempt addresses. */
export interface ConnectionLimitOptions {
  /** Open connections of one IPv4 address, or one IPv6 /64, at most. */
  readonly most: number
  /** Whether an address is that of a proxy, which carries many clients. */
  readonly isProxy: (address: string) => boolean
  /** Called once when an address reaches its limit, until it has no connection left. */
  readonly onFull: (address: string) => void
}

interface Counted {
  open: number
  told: boolean
}

/** Makes the limit of connections for each address. */
export function limitConnections(options: ConnectionLimitOptions): ConnectionLimit {
  const { most, isProxy, onFull } = options
  const counts = new Map<string, Counted>()
  return {
    admit: (socket) => {
      const { remoteAddress } = socket
      // It was gone before it was looked at.
      if (remoteAddress === undefined) return false
      if (isProxy(remoteAddress)) return true
      const network = networkOf(remoteAddress)
      const counted = counts.get(network) ?? { open: 0, told: false }
      if (counted.open >= most) {
        if (!counted.told) onFull(network)
        counted.told = true
        return false
      }
      counted.open += 1
      counts.set(network, counted)
      socket.once('close', () => {
        counted.open -= 1
        if (counted.open === 0) counts.delete(network)
      })
      return true
    },
  }
}
