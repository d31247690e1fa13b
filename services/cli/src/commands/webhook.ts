import type { Command } from 'commander'
import { Option } from 'commander'
import type { Client } from '@plumbline/client/client'
import { WEBHOOK_EVENTS } from '@plumbline/contract/webhook'
import { DELIVERY_STATES, type DeliveryState } from '@plumbline/contract/webhook-limits'
import { jsonOption, keyOption } from '../arguments.ts'
import { openServiceClient } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'
import { facts, table } from '../table.ts'

interface Options {
  readonly key?: string
  readonly json: boolean
}

type Event = (typeof WEBHOOK_EVENTS)[number]

/** The commands about endpoints that are told of events. */
export function addWebhookCommands(parent: Command, shell: Shell): void {
  const add = (name: string, description: string): Command =>
    parent.command(name).description(description).addOption(keyOption()).addOption(jsonOption())
  const shown =
    (ask: (client: Client, id: string) => Promise<object>) =>
    async (id: string, options: Options): Promise<void> =>
      await show(shell, options, (client) => ask(client, id))
  add('create', 'be told of events at an address; prints the secret, which is not shown again')
    .argument('<url>', 'https address')
    .addOption(
      new Option('--events <events...>', 'what to be told of')
        .choices(WEBHOOK_EVENTS)
        .makeOptionMandatory(),
    )
    .action(async (url: string, options: Options & { readonly events: Event[] }) => {
      const { events } = options
      await show(shell, options, (client) => client.webhooks.create({ url, events }))
    })
  add('list', 'list endpoints, oldest first').action((options: Options) => list(shell, options))
  add('show', 'show an endpoint')
    .argument('<id>', 'endpoint')
    .action(shown((client, id) => client.webhooks.get(id)))
  add('enable', 'send to an endpoint again that was switched off')
    .argument('<id>', 'endpoint')
    .action(shown((client, id) => client.webhooks.change(id, { enabled: true })))
  add('disable', 'send nothing to an endpoint for now')
    .argument('<id>', 'endpoint')
    .action(shown((client, id) => client.webhooks.change(id, { enabled: false })))
  add('rotate', 'make a new secret; the old one signs beside it for a day')
    .argument('<id>', 'endpoint')
    .action(shown((client, id) => client.webhooks.rotate(id)))
  add('test', 'send a message that means nothing')
    .argument('<id>', 'endpoint')
    .action(shown((client, id) => client.webhooks.test(id)))
  add('delete', 'remove an endpoint')
    .argument('<id>', 'endpoint')
    .action(
      shown(async (client, id) => {
        await client.webhooks.delete(id)
        return { id, deleted: true }
      }),
    )
  addDeliveryCommands(add, shell)
}

function addDeliveryCommands(
  add: (name: string, description: string) => Command,
  shell: Shell,
): void {
  add('deliveries', 'list what was sent to an endpoint, newest first')
    .argument('<id>', 'endpoint')
    .addOption(new Option('--status <status>', 'only these').choices(DELIVERY_STATES))
    .action((id: string, options: Options & { readonly status?: DeliveryState }) =>
      deliveries(shell, id, options),
    )
  add('replay', 'send a message again')
    .argument('<id>', 'endpoint')
    .argument('<delivery>', 'delivery')
    .action(async (id: string, delivery: string, options: Options) => {
      await show(shell, options, (client) => client.webhooks.replay(id, delivery))
    })
}

async function show(
  shell: Shell,
  { key, json }: Options,
  ask: (client: Client) => Promise<object>,
): Promise<void> {
  const answer = await ask(await openServiceClient(cliSettings(shell.environment), key))
  if (json) writeJson(shell, answer)
  else shell.write(facts(answer, shell))
}

async function list(shell: Shell, { key, json }: Options): Promise<void> {
  const client = await openServiceClient(cliSettings(shell.environment), key)
  const { data } = await client.webhooks.list({ signal: shell.stop })
  if (json) return writeJson(shell, data)
  const rows = data.map((one) => [
    one.id,
    one.enabled ? 'active' : (one.disabled_reason ?? 'off'),
    one.url,
    one.events.join(' '),
  ])
  shell.write(table(['endpoint', 'state', 'address', 'events'], rows, shell))
}

async function deliveries(
  shell: Shell,
  id: string,
  { key, json, status }: Options & { readonly status?: DeliveryState },
): Promise<void> {
  const client = await openServiceClient(cliSettings(shell.environment), key)
  const page = { limit: 50, ...(status === undefined ? {} : { status }) }
  const { data } = await client.webhooks.deliveries(id, page, { signal: shell.stop })
  if (json) return writeJson(shell, data)
  const rows = data.map((one) => [
    one.id,
    one.type,
    one.status,
    String(one.attempts),
    one.created_at,
    one.response === null ? (one.error ?? '-') : String(one.response.status),
  ])
  const headings = ['delivery', 'event', 'state', 'attempts', 'made', 'answer']
  shell.write(table(headings, rows, shell))
}
