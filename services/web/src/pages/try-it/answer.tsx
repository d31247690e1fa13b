import { CHECKS } from '@plumbline/contract/products'
import type { JSX } from 'preact'
import { isUnknown } from '../../api/result-rows.ts'
import { Facts, Table } from '../../components/table.tsx'
import { Foreign, Time, visibleText } from '../../components/text.tsx'
import * as format from '../../format.ts'
import type { Lookup } from './values.ts'
import { reasonText } from './reason-text.ts'

/** The fields of a result, with the evidence beside each part. */
export function Answer({ answer }: { readonly answer: Lookup }): JSX.Element {
  const { explain, ...result } = answer
  return (
    <div class="stack">
      <Table
        caption="Fields of the answer"
        rows={fieldsOf(result)}
        keyOf={({ name }) => name}
        columns={[
          { title: 'Field', cell: ({ name }) => <code class="wrap">{name}</code> },
          { title: 'Value', cell: (field) => <Value field={field} /> },
        ]}
      />
      {explain !== undefined && (
        <section class="stack tight">
          <h3>How it is known</h3>
          {CHECKS.map((check) => {
            const part = explain[check]
            return (
              part !== undefined && (
                <div key={check} class="stack tight">
                  <p class="small">
                    <strong>{check}</strong>: {reasonText(check, part.reason)}{' '}
                    <span class="muted">
                      {part.cached
                        ? 'Known from an earlier lookup of '
                        : `Asked for ${seconds(part.duration_ms)} on `}
                      <Time at={part.checked_at} />.
                    </span>
                  </p>
                  <Evidence check={check} evidence={part.evidence} />
                </div>
              )
            )
          })}
          {explain.fraud_score?.reasons.map(({ code, contribution }) => (
            <p key={code} class="small">
              <span class="number">{format.number(Math.round(contribution))}</span> points:{' '}
              {code.replaceAll('_', ' ')}
            </p>
          ))}
        </section>
      )}
    </div>
  )
}

/** The evidence of a result, with the replies of the queried servers. */
function Evidence({
  check,
  evidence,
}: {
  readonly check: string
  readonly evidence: Readonly<Record<string, unknown>>
}): JSX.Element | null {
  const facts = fieldsOf(evidence).filter(({ value }) => value !== null && value !== '')
  if (facts.length === 0) return null
  return (
    <details class="details">
      <summary>Evidence of {check}</summary>
      <Facts
        long
        facts={facts.map((field) => [
          visibleText(field.name.replaceAll('_', ' ')),
          <Value key={field.name} field={field} />,
        ])}
      />
    </details>
  )
}

function seconds(ms: number): string {
  return ms < 1_000 ? 'less than a second' : `${format.number(Math.round(ms / 100) / 10)} s`
}

interface Shown {
  readonly name: string
  readonly value: unknown
}

/** Fields of nested parts by their path, `email.valid`. */
function fieldsOf(result: Readonly<Record<string, unknown>>, before = ''): readonly Shown[] {
  return Object.entries(result).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null
      ? fieldsOf({ ...value }, `${before}${name}.`)
      : [{ name: `${before}${name}`, value }],
  )
}

function Value({ field: { name, value } }: { readonly field: Shown }): JSX.Element {
  if (isUnknown(name, value)) return <span class="muted">Not known</span>
  if (typeof value === 'boolean') return <>{value ? 'Yes' : 'No'}</>
  if (typeof value === 'number') return <span class="number">{format.number(value)}</span>
  return <Foreign text={typeof value === 'string' ? value : JSON.stringify(value)} />
}
