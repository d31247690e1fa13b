import { Problem, type ProblemCode } from '@plumbline/contract/problem'

/** Problem codes of an unreadable file. */
export type IntakeErrorCode = Extract<
  ProblemCode,
  | 'bad_request'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'unprocessable'
  | 'too_many_requests'
>

/** A file that cannot be read as a whole; the message is public and names the line if known. */
export class IntakeError extends Problem {
  declare readonly code: IntakeErrorCode
  /** 1-based line of the unpacked file. */
  readonly line: number | undefined

  constructor(
    code: IntakeErrorCode,
    message: string,
    options: { cause?: unknown; line?: number } = {},
  ) {
    super(code, message, options)
    this.line = options.line
  }
}
