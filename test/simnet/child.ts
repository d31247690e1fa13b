import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { on, once } from 'node:events'
import { fileOfProgram } from '@plumbline/testkit/bundled-programs'
import type { CountersJson, Totals } from './counters.ts'
import type { SimnetOptions } from './simnet.ts'

/** A simulated internet in a child process, so that it takes no time from the thread of the measured code. */
export interface SimnetProcess extends AsyncDisposable {
  readonly settings: Readonly<Record<string, string>>
  readonly pid: number
  /** The counters of its servers. */
  counters(): Promise<CountersJson>
  /** Longest delay of the event loop, in ms: times in the counters may be that much too late. */
  eventLoopDelayMs(): Promise<number>
  /** Totals of the counters: reading these, which have the time of each probe, is expensive. */
  totals(): Promise<Totals>
  /** RCPT commands for each recipient; empty without `countsRecipients`. */
  recipients(): Promise<ReadonlyMap<string, number>>
}

const START_MS = 20_000

/** Starts the program and waits for its settings; a world is given by its options only. */
export async function spawnSimnet(options: Omit<SimnetOptions, 'world'>): Promise<SimnetProcess> {
  const child = fork(fileOfProgram('simnet'), ['--options', JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const settings = await readSettings(child)
  return {
    settings,
    pid: child.pid ?? 0,
    counters: async () => {
      return (await answerOf(child, 'counters')) as CountersJson
    },
    eventLoopDelayMs: async () => {
      return (await answerOf(child, 'eventLoopDelay')) as number
    },
    totals: async () => {
      return (await answerOf(child, 'totals')) as Totals
    },
    recipients: async () => {
      return new Map((await answerOf(child, 'recipients')) as readonly [string, number][])
    },
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const left = once(child, 'exit')
      child.kill('SIGTERM')
      await left
    },
  }
}

/** The program's reply to a command, as `main.ts` writes it. */
async function answerOf(child: ChildProcess, question: string): Promise<unknown> {
  const messages = on(child, 'message', { signal: AbortSignal.timeout(START_MS) })
  child.send(question)
  for await (const [message] of messages) {
    const answers = message as { readonly [question: string]: unknown }
    if (question in answers) return answers[question]
  }
  return undefined
}

/** The one line that the program prints when it is ready. */
async function readSettings(child: ChildProcess): Promise<Record<string, string>> {
  const timer = setTimeout(() => child.kill('SIGKILL'), START_MS)
  let text = ''
  try {
    for await (const chunk of child.stdout ?? []) {
      text += String(chunk)
      const end = text.indexOf('\n')
      // The shape is that of `Simnet.settings`, written by our own program.
      if (end >= 0) return JSON.parse(text.slice(0, end)) as Record<string, string>
    }
  } finally {
    clearTimeout(timer)
  }
  throw new Error('the simulated internet ended before it was ready')
}
