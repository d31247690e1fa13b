import { pino, type Logger } from 'pino'
import { faultOf } from './fault.ts'

/** The log of a program: JSON lines on standard output, or a file descriptor. */
export type Log = Logger

/**
 * Makes the log; secrets in the usual places are cut out, of errors (`err`) only what `faultOf` shows is
 * written, and subjects are never passed in.
 */
export function createLog(options: { name: string; level?: string; destination?: number }): Log {
  return pino(
    {
      name: options.name,
      level: options.level ?? 'info',
      redact: {
        paths: ['authorization', '*.authorization', 'headers.authorization', 'key', 'secret'],
        censor: '[redacted]',
      },
      serializers: { err: faultOf },
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    pino.destination({ dest: options.destination ?? 1, sync: false }),
  )
}
