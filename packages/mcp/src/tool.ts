import type { Client } from '@plumbline/client/client'
import type { JsonSchema } from '@plumbline/contract/json-schema'

/**
 * One tool that a model can call. Its description is fixed: it contains nothing written by users or
 * third parties.
 */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: JsonSchema
  /** Whether the tool changes nothing and costs nothing. */
  readonly readOnly: boolean
  /**
   * Runs the tool.
   *
   * @param input unvalidated
   * @throws ToolFault, and errors of the client
   */
  run(client: Client, input: unknown, signal: AbortSignal): Promise<object>
}

/** An invalid call, explained in a sentence for the model. */
export class ToolFault extends Error {
  override readonly name = 'ToolFault'
}

/** The part of a schema that parses input. */
interface Reader<T> {
  safeParse(
    input: unknown,
  ):
    | { readonly success: true; readonly data: T }
    | { readonly success: false; readonly error: { readonly issues: readonly Issue[] } }
}

interface Issue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/**
 * Parses the input of a tool.
 *
 * @throws ToolFault that names the field
 */
export function readInput<T>(shape: Reader<T>, input: unknown): T {
  const read = shape.safeParse(input ?? {})
  if (read.success) return read.data
  const [issue] = read.error.issues
  const field = issue?.path.map(String).join('.') ?? ''
  throw new ToolFault(`${field === '' ? '' : `${field}: `}${issue?.message ?? 'not as expected'}`)
}
