import type { Socket } from 'node:net'
import type { Question } from './message.ts'
import { encodeName, truncated } from './message.ts'

/** A query that gets a faulty reply; `reply` is the correct one. */
export interface FaultContext {
  readonly query: Buffer
  readonly question: Question
  readonly reply: Buffer
  readonly send: (message: Buffer) => void
  readonly transport: 'udp' | 'tcp'
  readonly connection?: Socket
}

const LATE_MS = 1500
const ENDLESS = Buffer.alloc(64 * 1024)

/**
 * Faults on the wire, by name: malformed, delayed or missing replies. Faults in the content of
 * well-formed replies are in `faults.ts`.
 */
export const WIRE_FAULTS: Readonly<Record<string, (context: FaultContext) => void>> = {
  silent: () => undefined,
  late: ({ send, reply }) => void setTimeout(() => send(reply), LATE_MS),
  garbage: ({ send }) => send(Buffer.from('this is no DNS message at all')),
  short: ({ send, reply }) => send(reply.subarray(0, 7)),
  'cut-in-answer': ({ send, reply }) => send(reply.subarray(0, reply.length - 3)),
  'wrong-id': ({ send, reply }) => {
    const wrong = Buffer.from(reply)
    wrong.writeUInt16BE((wrong.readUInt16BE(0) + 1) & 0xffff, 0)
    send(wrong)
  },
  'wrong-id-first': ({ send, reply }) => {
    const wrong = Buffer.from(reply)
    wrong.writeUInt16BE((wrong.readUInt16BE(0) + 1) & 0xffff, 0)
    send(wrong)
    send(reply)
  },
  'wrong-question': ({ send, reply, question }) => {
    const name = encodeName('another.example')
    send(Buffer.concat([reply.subarray(0, 12), name, reply.subarray(question.endOffset - 4)]))
  },
  'not-a-reply': ({ send, reply }) => {
    const asked = Buffer.from(reply)
    asked[2] = (asked[2] ?? 0) & 0x7f
    send(asked)
  },
  'tcp-only': ({ send, reply, question, transport }) =>
    send(transport === 'tcp' ? reply : truncated(reply, question)),
  'truncated-without-tcp': ({ send, reply, question, transport, connection }) => {
    if (transport === 'udp') send(truncated(reply, question))
    else connection?.destroy()
  },
  'endless-tcp': ({ send, reply, question, transport, connection }) => {
    if (transport === 'udp') {
      send(truncated(reply, question))
      return
    }
    if (connection === undefined) return
    const pour = (): void => {
      while (!connection.destroyed) {
        if (!connection.write(ENDLESS)) {
          connection.once('drain', pour)
          return
        }
      }
    }
    pour()
  },
  'pointer-loop': ({ send, reply, question }) => {
    const head = Buffer.from(reply.subarray(0, question.endOffset))
    head.writeUInt16BE(1, 6)
    head.fill(0, 8, 12)
    const own = question.endOffset
    const pointer = Buffer.from([0xc0 | (own >> 8), own & 0xff])
    const rest = Buffer.from('000f0001000000780004000a', 'hex')
    send(Buffer.concat([head, pointer, rest, pointer]))
  },
  'counts-that-lie': ({ send, reply }) => {
    const lying = Buffer.from(reply)
    lying.writeUInt16BE(0xffff, 6)
    send(lying)
  },
}

/** Answers a query with the fault of that name; correctly if there is none. */
export function applyFault(name: string, context: FaultContext): void {
  const fault = WIRE_FAULTS[name]
  if (fault === undefined) context.send(context.reply)
  else fault(context)
}
