import type { Socket } from 'node:net'
import type { Question } from './message.ts'

/** One question to be answered badly. `reply` is the honest reply under the right id. */
export interface FaultContext {
  readonly query: Buffer
  readonly question: Question
  readonly reply: Buffer
  readonly send: (message: Buffer) => void
  readonly transport: 'udp' | 'tcp'
  readonly connection?: Socket
}

/** Answers a question in the manner of a fault. */
export function applyFault(fault: string, context: FaultContext): void {
  if (fault === 'silent') return
  context.send(context.reply)
}
