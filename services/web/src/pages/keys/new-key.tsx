import type { NewKeyResponse } from '@plumbline/contract/app/keys'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Button } from '../../components/button.tsx'
import { Card, Notice } from '../../components/page.tsx'
import { TextForms } from '../../components/text-forms.tsx'
import { focusHeading } from '../../kept-focus.ts'

/** A first call with a key, as a `curl` command. */
function curlCall(key: string): string {
  return [
    `curl ${location.origin}/v1/email \\`,
    `  -H 'Authorization: Bearer ${key}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"email":"ada@example.com"}'`,
  ].join('\n')
}

/** The new key, shown once. */
export function NewKey({
  made: { key, replaced },
  onDone,
}: {
  readonly made: NewKeyResponse
  readonly onDone: () => void
}): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    box.current?.scrollIntoView({ block: 'nearest' })
    focusHeading(box.current)
  }, [key])
  return (
    <div ref={box}>
      <Card title="Your new key" actions={<Button onClick={onDone}>I have kept it</Button>}>
        <Notice tone="warn">
          It is shown only once: store it now where your program reads it.
          {replaced !== null && ' The old key has stopped.'}
        </Notice>
        <TextForms
          label="How it is written"
          forms={[
            ['Key', key],
            ['.env line', `PLUMBLINE_KEY=${key}`],
            ['curl', curlCall(key)],
          ]}
        >
          {(text) => (
            <pre class="code fold" role="status">
              {text}
            </pre>
          )}
        </TextForms>
      </Card>
    </div>
  )
}
