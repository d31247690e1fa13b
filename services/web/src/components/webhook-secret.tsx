import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { useAnnounce } from './announcer.tsx'
import { CopyButton } from './copy.tsx'
import { Notice } from './page.tsx'

/** The secret of an endpoint, shown once. */
export function WebhookSecret({ secret }: { readonly secret: string }): JSX.Element {
  const announce = useAnnounce()
  useEffect(() => announce('The secret is shown, this once.'), [secret])
  return (
    <div class="stack tight">
      <Notice tone="warn">
        The secret that signs the messages is shown only once; store it where your program reads it.
      </Notice>
      <pre class="code fold" role="status">
        {secret}
      </pre>
      <CopyButton text={secret} name="Copy the secret" />
    </div>
  )
}
