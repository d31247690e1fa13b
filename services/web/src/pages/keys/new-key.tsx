import type { NewKeyResponse } from '@plumbline/contract/app/keys'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../../components/button.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { Card, Notice } from '../../components/page.tsx'
import { focusHeading } from '../../kept-focus.ts'

/** Formats in which a key can be copied. */
const FORMS = [
  ['Key', (key: string) => key],
  ['.env line', (key: string) => `PLUMBLINE_KEY=${key}`],
  ['curl', curlCall],
] as const

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
  const [form, setForm] = useState(0)
  const shown = FORMS[form] ?? FORMS[0]
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
        <div class="row spread">
          <div class="tabs" role="group" aria-label="How it is written">
            {FORMS.map(([name], index) => (
              <button
                key={name}
                type="button"
                aria-pressed={index === form}
                onClick={() => setForm(index)}
              >
                {name}
              </button>
            ))}
          </div>
          <CopyButton text={shown[1](key)} />
        </div>
        <pre class="code fold" role="status">
          {shown[1](key)}
        </pre>
      </Card>
    </div>
  )
}
