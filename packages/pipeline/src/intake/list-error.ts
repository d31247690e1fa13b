import { Problem, type ProblemCode } from '@plumbline/contract/problem'

/** Codes that an unreadable list can be refused with. */
export type ListErrorCode = Extract<
  ProblemCode,
  | 'bad_request'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'unprocessable'
  | 'too_many_requests'
>

/** A list that cannot be read as a whole; the message is public and names the line where there is one. */
export class ListError extends Problem {
  /** 1-based line of the unpacked file. */
  readonly line: number | undefined

  constructor(
    code: ListErrorCode,
    message: string,
    options: { cause?: unknown; line?: number } = {},
  ) {
    super(code, message, options)
    this.line = options.line
  }
}
