import { pino, type DestinationStream, type Logger } from 'pino'
import { faultOf } from './fault.ts'
import { openLogFile } from './log-file.ts'
import { terminalLine } from './terminal-log.ts'

/**
 * Makes the log on a file descriptor, standard output by default: JSON lines, or on a terminal
 * short lines for reading. Known secret fields are removed, errors (`err`) are reduced to what
 * `faultOf` shows, and subjects are never passed in.
 */
export function createLog(options: { name: string; level?: string; destination?: number }): Logger {
  const { name, level = 'info', destination: fd = 1 } = options
  return pino(
    {
      name,
      level,
      redact: {
        paths: ['authorization', '*.authorization', 'headers.authorization', 'key', 'secret'],
        censor: '[redacted]',
      },
      serializers: { err: faultOf },
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    terminalOf(fd) ?? openLogFile(fd),
  )
}

/** The terminal behind standard output or standard error; undefined if there is none. */
function terminalOf(fd: number): DestinationStream | undefined {
  const stream = [undefined, process.stdout, process.stderr][fd]
  if (stream?.isTTY !== true) return undefined
  const hasColors = stream.hasColors()
  return { write: (line) => void stream.write(terminalLine(line, hasColors)) }
}
