// What the proxy recognizes in the traffic of Postgres and Redis.

/** Messages `Query` and `CommandComplete` of Postgres's protocol. Source: PostgreSQL manual, chapter 54.7. */
export const COMMIT = textMessage('Q', 'commit')
export const ROLLBACK = textMessage('Q', 'rollback')
export const COMMITTED = textMessage('C', 'COMMIT')
export const ROLLED_BACK = textMessage('C', 'ROLLBACK')

/** Part of the message that binds the statement which saves partial outcomes of a task. */
export const SAVE = Buffer.from('\0outcomes.store\0')

/** How a round of the dispatcher begins, and the setting of a session as its startup message has it. */
export const ROUND = /set local idle_in_transaction_session_timeout = (\d+)/
const IDLE_LIMIT = /\0idle_in_transaction_session_timeout\0(\d+)\0/

/** Commands by which a client begins to listen. */
export const LISTENS = /listen "|\bs?subscribe\b/i

/** Blocking commands of Redis, which reply only when there is a job. */
export const WAITS = /bzpopmin/i

/** ReadyForQuery: its last byte tells whether a transaction is open. */
export const READY = Buffer.from([0x5a, 0, 0, 0, 5])

/** That byte while none is. */
export const NO_TRANSACTION = 0x49

/** Terminate: the client will close the connection. */
export const TERMINATE = Buffer.from([0x58, 0, 0, 0, 4])

/** How long the transactions of a session may be idle, in milliseconds, by its startup message. */
export function idleLimitOf(startup: Buffer): number {
  const [, ms] = IDLE_LIMIT.exec(startup.toString('latin1')) ?? []
  return ms === undefined ? Infinity : Number(ms)
}

function textMessage(kind: string, text: string): Buffer {
  const message = Buffer.alloc(text.length + 6)
  message.write(kind, 0)
  message.writeInt32BE(text.length + 5, 1)
  message.write(text, 5)
  return message
}

/** A piece with its first occurrence of a message exchanged for another. */
export function replaced(piece: Buffer, what: Buffer, by: Buffer): Buffer {
  const at = piece.indexOf(what)
  return Buffer.concat([piece.subarray(0, at), by, piece.subarray(at + what.length)])
}
