import type { Command } from 'commander'
import { Option } from 'commander'
import { WEBHOOK_EVENTS, type WebhookDelivery, type WebhookView } from '@plumbline/contract/webhook'
import { DELIVERY_STATES, type DeliveryState } from '@plumbline/contract/webhook-limits'
import { given } from '../given.ts'
import { serviceCommand, showResponse, type Ask, type ServiceOptions } from '../service-command.ts'
import type { Shell } from '../shell.ts'
import { table } from '../table.ts'

type Event = (typeof WEBHOOK_EVENTS)[number]

/** A call about one endpoint, by its id. */
type AskOfOne = (...asked: [...Parameters<Ask<object>>, id: string]) => Promise<object>

/** The commands for webhook endpoints. */
export function addWebhookCommands(parent: Command, shell: Shell): void {
  const addForOne = (name: string, description: string, ask: AskOfOne): void => {
    serviceCommand(parent, name, description)
      .argument('<id>', 'endpoint')
      .action((id: string, options: ServiceOptions) =>
        showResponse(shell, options, (client, call) => ask(client, call, id)),
      )
  }
  serviceCommand(
    parent,
    'create',
    'be told of events at an address; prints the secret, which is not shown again',
  )
    .argument('<url>', 'https address')
    .addOption(
      new Option('--events <events...>', 'what to be told of')
        .choices(WEBHOOK_EVENTS)
        .makeOptionMandatory(),
    )
    .action((url: string, options: ServiceOptions & { readonly events: Event[] }) =>
      showResponse(shell, options, (client, call) =>
        client.webhooks.create({ url, events: options.events }, call),
      ),
    )
  serviceCommand(parent, 'list', 'list endpoints, oldest first').action((options: ServiceOptions) =>
    showResponse(
      shell,
      options,
      async (client, call) => (await client.webhooks.list(call)).data,
      (endpoints) => endpointsText(endpoints, shell),
    ),
  )
  addForOne('show', 'show an endpoint', (client, call, id) => client.webhooks.get(id, call))
  addForOne('enable', 'send to an endpoint again that was switched off', (client, call, id) =>
    client.webhooks.change(id, { enabled: true }, call),
  )
  addForOne('disable', 'send nothing to an endpoint for now', (client, call, id) =>
    client.webhooks.change(id, { enabled: false }, call),
  )
  addForOne(
    'rotate',
    'make a new secret; the old one signs beside it for a day',
    (client, call, id) => client.webhooks.rotate(id, call),
  )
  addForOne('test', 'send a message that means nothing', (client, call, id) =>
    client.webhooks.test(id, call),
  )
  addForOne('delete', 'remove an endpoint', async (client, call, id) => {
    await client.webhooks.delete(id, call)
    return { id, deleted: true }
  })
  addDeliveryCommands(parent, shell)
}

function addDeliveryCommands(parent: Command, shell: Shell): void {
  serviceCommand(parent, 'deliveries', 'list what was sent to an endpoint, newest first')
    .argument('<id>', 'endpoint')
    .addOption(new Option('--status <status>', 'only these').choices(DELIVERY_STATES))
    .action((id: string, options: ServiceOptions & { readonly status?: DeliveryState }) => {
      const page = given({ limit: 50, status: options.status })
      return showResponse(
        shell,
        options,
        async (client, call) => (await client.webhooks.deliveries(id, page, call)).data,
        (deliveries) => deliveriesText(deliveries, shell),
      )
    })
  serviceCommand(parent, 'replay', 'send a message again')
    .argument('<id>', 'endpoint')
    .argument('<delivery>', 'delivery')
    .action((id: string, delivery: string, options: ServiceOptions) =>
      showResponse(shell, options, (client, call) => client.webhooks.replay(id, delivery, call)),
    )
}

function endpointsText(
  endpoints: readonly WebhookView[],
  screen: Pick<Shell, 'hasColors'>,
): string {
  const rows = endpoints.map((one) => [
    one.id,
    one.enabled ? 'active' : (one.disabled_reason ?? 'off'),
    one.url,
    one.events.join(' '),
  ])
  return table(['endpoint', 'state', 'address', 'events'], rows, screen)
}

function deliveriesText(
  deliveries: readonly WebhookDelivery[],
  screen: Pick<Shell, 'hasColors'>,
): string {
  const rows = deliveries.map((one) => [
    one.id,
    one.type,
    one.status,
    String(one.attempts),
    one.created_at,
    one.response === null ? (one.error ?? '-') : String(one.response.status),
  ])
  return table(['delivery', 'event', 'state', 'attempts', 'made', 'answer'], rows, screen)
}
