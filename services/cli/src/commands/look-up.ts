import { RefusedError } from '@plumbline/client/refused'
import type { Command } from 'commander'
import {
  checksOf,
  PRODUCT_PLANS,
  PRODUCTS,
  type Check,
  type Product,
} from '@plumbline/contract/products'
import type { RequestOf } from '@plumbline/contract/requests'
import { jsonOption, keyOption } from '../arguments.ts'
import { UsageError } from '../refusal.ts'
import { openServiceClient } from '../service.ts'
import { writeJson, type Shell } from '../shell.ts'
import { facts } from '../table.ts'

type Options = {
  readonly [C in Check]?: string
} & {
  readonly explain: boolean
  readonly key?: string
  readonly json: boolean
}

/** `lookup`: one command for each of the seven products. */
export function addLookUp(parent: Command, shell: Shell): void {
  const group = parent.command('lookup').description('ask the service about one or more subjects')
  for (const product of PRODUCTS) addProduct(group, shell, product)
}

function addProduct(group: Command, shell: Shell, product: Product): void {
  const { required, optional, capCredits } = PRODUCT_PLANS[product]
  const command = group
    .command(product)
    .description(`${product} result; credits for each: at most ${capCredits}`)
    .argument(`<${required}...>`, 'one or more subjects; results come in their order')
  for (const check of optional) command.option(`--${check} <${check}>`, `look up ${check} as well`)
  command
    .option('--explain', 'add how each part of the result is known', false)
    .addOption(keyOption())
    .addOption(jsonOption())
    .action((subjects: readonly string[], options: Options) =>
      run(shell, product, subjects, options),
    )
}

async function run(
  shell: Shell,
  product: Product,
  subjects: readonly string[],
  options: Options,
): Promise<void> {
  const requests = requestsOf(product, subjects, options)
  const client = await openServiceClient(shell.environment, options.key)
  let failed = 0
  for (const [index, request] of requests.entries()) {
    const result = await client
      .lookUp(product, request, { signal: shell.stop })
      .catch((error: unknown) => {
        if (subjects.length === 1) throw error
        failed++
        return refusalOf(product, subjects[index] ?? '', error)
      })
    if (options.json) writeJson(shell, result)
    else shell.write(`${index === 0 ? '' : '\n'}${facts(result, shell)}`)
  }
  if (failed === 0) return
  shell.tell(`${failed} of ${subjects.length} could not be answered.\n`)
  shell.fail()
}

/** Statuses that refuse the key, and so apply to all subjects. */
const OF_THE_KEY: readonly number[] = [401, 403]

/**
 * The output for a refused subject.
 *
 * @throws the error if it is not about this subject only
 */
function refusalOf(product: Product, subject: string, error: unknown): object {
  if (!(error instanceof RefusedError) || OF_THE_KEY.includes(error.status)) throw error
  const { required } = PRODUCT_PLANS[product]
  const { message, requestId } = error
  return { [required]: subject, error: error.error, message, request_id: requestId }
}

/**
 * The bodies of the calls.
 *
 * @throws UsageError if values of other checks are given together with several subjects
 */
export function requestsOf(
  product: Product,
  subjects: readonly string[],
  options: { readonly [C in Check]?: string } & { readonly explain: boolean },
): readonly RequestOf[] {
  const { required } = PRODUCT_PLANS[product]
  const companions = checksOf(product).flatMap((check) => {
    const value = check === required ? undefined : options[check]
    return value === undefined ? [] : [[check, value] as const]
  })
  const [first] = companions
  if (first !== undefined && subjects.length > 1) {
    throw new UsageError(`--${first[0]} belongs to one subject; ${subjects.length} were given.`)
  }
  return subjects.map((subject) =>
    bodyOf({
      [required]: subject,
      ...Object.fromEntries(companions),
      ...(options.explain ? { explain: true } : {}),
    }),
  )
}

/**
 * Safe because the fields come from the product's own plan, and the service validates their values.
 */
function bodyOf(fields: Readonly<Record<string, string | boolean>>): RequestOf {
  return fields as unknown as RequestOf
}
