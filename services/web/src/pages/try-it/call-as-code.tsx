import { checksOf, PRODUCT_PLANS, type Product } from '@plumbline/contract/products'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { CopyButton } from '../../components/copy.tsx'
import { EXAMPLES, type Values } from './values.ts'

const LANGUAGES = [
  ['curl', curlOf],
  ['JavaScript', javaScriptOf],
  ['Python', pythonOf],
] as const

/** The call of the form as code; if the form is empty, with example values. */
export function CallAsCode({
  product,
  body,
}: {
  readonly product: Product
  readonly body: Values
}): JSX.Element {
  const [chosen, setChosen] = useState(0)
  const [, write] = LANGUAGES[chosen] ?? LANGUAGES[0]
  const { required } = PRODUCT_PLANS[product]
  const sent = checksOf(product).some((check) => body[check] !== undefined)
    ? body
    : { [required]: EXAMPLES[required] }
  const code = write(`${location.origin}/v1/${product}`, JSON.stringify(sent))
  return (
    <>
      <div class="row spread">
        <div class="tabs" role="group" aria-label="Language">
          {LANGUAGES.map(([name], index) => (
            <button
              key={name}
              type="button"
              aria-pressed={index === chosen}
              onClick={() => setChosen(index)}
            >
              {name}
            </button>
          ))}
        </div>
        <CopyButton text={code} />
      </div>
      <pre class="code" tabIndex={0} role="region" aria-label="Code">
        {code}
      </pre>
      <p class="muted small">
        <code>PLUMBLINE_KEY</code> is <a href="/app/keys">your key</a>.
      </p>
    </>
  )
}

function curlOf(url: string, json: string): string {
  return [
    `curl ${url} \\`,
    `  -H "Authorization: Bearer $PLUMBLINE_KEY" \\`,
    `  -H 'Content-Type: application/json' \\`,
    // In single quotes a shell reads nothing but the quote itself.
    `  -d '${json.replaceAll("'", `'\\''`)}'`,
  ].join('\n')
}

function javaScriptOf(url: string, json: string): string {
  return `const response = await fetch('${url}', {
  method: 'POST',
  headers: {
    Authorization: \`Bearer \${process.env.PLUMBLINE_KEY}\`,
    'Content-Type': 'application/json',
  },
  body: JSON.stringify(${json}),
})
console.log(await response.json())`
}

function pythonOf(url: string, json: string): string {
  return `import json, os, urllib.request

request = urllib.request.Request(
    "${url}",
    data=json.dumps(${json}).encode(),
    headers={
        "Authorization": "Bearer " + os.environ["PLUMBLINE_KEY"],
        "Content-Type": "application/json",
    },
)
print(json.load(urllib.request.urlopen(request)))`
}
