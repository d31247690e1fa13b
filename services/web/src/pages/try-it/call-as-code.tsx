import { checksOf, PRODUCT_PLANS, type Product } from '@plumbline/contract/products'
import type { JSX } from 'preact'
import { TextForms } from '../../components/text-forms.tsx'
import { EXAMPLES, type Values } from './values.ts'

/** The call of the form as code; if the form is empty, with example values. */
export function CallAsCode({
  product,
  body,
}: {
  readonly product: Product
  readonly body: Values
}): JSX.Element {
  const { required } = PRODUCT_PLANS[product]
  const sent = checksOf(product).some((check) => body[check] !== undefined)
    ? body
    : { [required]: EXAMPLES[required] }
  const [url, json] = [`${location.origin}/v1/${product}`, JSON.stringify(sent)]
  return (
    <>
      <TextForms
        label="Language"
        forms={[
          ['curl', curlOf(url, json)],
          ['JavaScript', javaScriptOf(url, json)],
          ['Python', pythonOf(url, json)],
        ]}
      >
        {(code) => (
          <pre class="code" tabIndex={0} role="region" aria-label="Code">
            {code}
          </pre>
        )}
      </TextForms>
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
