import type { Socket } from 'node:net'

/** Bad answers by name. */
export const WHOIS_FAULTS: Readonly<Record<string, (socket: Socket, query: string) => void>> = {
  empty: (socket) => void socket.end(),
}
