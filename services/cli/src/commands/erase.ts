import { readFile } from 'node:fs/promises'
import { ERASED_VALUES_MAX, type EraseRequest } from '@plumbline/contract/erasure'
import { CHECKS, type Check } from '@plumbline/contract/products'
import type { Command } from 'commander'
import { Refusal, UsageError } from '../refusal.ts'
import { serviceCommand, showResponse, type ServiceOptions } from '../service-command.ts'
import type { Shell } from '../shell.ts'
import { facts } from '../table.ts'

type Options = ServiceOptions & { readonly [C in Check]?: readonly string[] } & {
  readonly file?: string
  readonly includeAddresses: boolean
  readonly wait: boolean
}

const SHAPES: Readonly<Record<Check, string>> = {
  email: 'addresses',
  phone: 'numbers in E.164 form',
  ip: 'IP addresses',
  domain: 'domain names',
}

/** `erase`: erases values from everything that is stored for an account. */
export function addErase(parent: Command, shell: Shell): void {
  const command = serviceCommand(
    parent,
    'erase',
    'erase values from batches, results, caches and messages of an account',
  )
  for (const check of CHECKS)
    command.option(`--${check} <${check}...>`, `${SHAPES[check]} to erase`)
  command
    .option('--file <file>', 'JSON as the API takes it: {"email": [...], "phone": [...]}')
    .option('--include-addresses', 'all addresses at the domains, too', false)
    .option('--no-wait', 'do not wait until nothing is left')
    .action((options: Options) => run(shell, options))
}

async function run(shell: Shell, options: Options): Promise<void> {
  const request = await requestOf(options)
  await showResponse(
    shell,
    options,
    async ({ privacy }, call) => {
      const begun = await privacy.erase(request, call)
      return options.wait ? await privacy.waitErased(begun.id, call) : begun
    },
    ({ erased, ...others }) => facts({ ...others, ...erased }, shell),
  )
}

async function requestOf(options: Options): Promise<EraseRequest> {
  const values = CHECKS.flatMap((check) => {
    const given = options[check]
    return given === undefined ? [] : [[check, [...given]] as const]
  })
  if (options.file !== undefined) {
    // What is left out of an erasure silently would stay.
    if (values.length > 0 || options.includeAddresses) {
      throw new UsageError('--file names all that is erased; write the rest into it.')
    }
    return await readRequest(options.file)
  }
  if (values.length === 0) {
    throw new UsageError('Name what to erase: --email, --phone, --ip, --domain or --file.')
  }
  return {
    ...Object.fromEntries(values),
    ...(options.includeAddresses ? { include_addresses: true } : {}),
  }
}

async function readRequest(path: string): Promise<EraseRequest> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new Refusal(`${path} cannot be read; name another file with --file.`, { cause: error })
  })
  try {
    // Safe because the service judges what it is sent.
    return JSON.parse(text) as EraseRequest
  } catch {
    throw new Refusal(
      `${path} is not JSON such as {"email": ["ada@example.com"]}, of at most ${ERASED_VALUES_MAX} values.`,
    )
  }
}
