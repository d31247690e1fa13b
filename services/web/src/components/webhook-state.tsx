import type { WebhookView } from '@plumbline/contract/webhook'
import type { JSX } from 'preact'
import { Time } from './text.tsx'

/** The state of an endpoint, as a badge. */
export function WebhookState({ endpoint }: { readonly endpoint: WebhookView }): JSX.Element {
  if (!endpoint.enabled) return <span class="badge bad">Switched off</span>
  if (endpoint.failing_since === null) return <span class="badge good">Switched on</span>
  return (
    <span class="badge warn">
      <span>
        Fails since <Time at={endpoint.failing_since} dayOnly />
      </span>
    </span>
  )
}
