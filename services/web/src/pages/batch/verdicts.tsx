import type { BatchView } from '@plumbline/contract/batch-view'
import type { JSX } from 'preact'
import { ShareBar, type Share } from '../../components/charts.tsx'
import { Disclosure } from '../../components/disclosure.tsx'
import { Card } from '../../components/page.tsx'
import { Table } from '../../components/table.tsx'
import { visibleText } from '../../components/text.tsx'
import * as format from '../../format.ts'

type Verdict = Omit<Share, 'count'> & { readonly key: string; readonly meaning: string }

/** Labels of verdicts, the good ones first. */
const EMAIL_VERDICTS: readonly Verdict[] = [
  {
    key: 'deliverable',
    name: 'Deliverable',
    tone: 'good',
    meaning: 'The mail server takes mail for it.',
  },
  {
    key: 'risky',
    name: 'Risky',
    tone: 'warn',
    meaning: 'It may be taken: the server takes every name, or the mailbox is full.',
  },
  { key: 'undeliverable', name: 'Undeliverable', tone: 'bad', meaning: 'Mail to it comes back.' },
  {
    key: 'unknown',
    name: 'Unknown',
    tone: 'none',
    meaning: 'The server gave no clear answer; a recheck may.',
  },
]

/** Risk levels of fraud signals. */
const RISK_LEVELS: readonly Verdict[] = [
  { key: 'low', name: 'Low risk', tone: 'good', meaning: 'A score of 0 to 30.' },
  { key: 'medium', name: 'Medium risk', tone: 'warn', meaning: 'A score of 31 to 69.' },
  { key: 'high', name: 'High risk', tone: 'bad', meaning: 'A score of 70 to 100.' },
]

/** The verdicts that a product counts; none for phone, ip and domain. */
export function verdictsOf(product: BatchView['product']): readonly Verdict[] {
  if (product === 'fraud-signals') return RISK_LEVELS
  return ['email', 'deliverability', 'contact-intel'].includes(product) ? EMAIL_VERDICTS : []
}

/** The label of a verdict. */
export function verdictName(product: BatchView['product'], verdict: string): string {
  return verdictsOf(product).find(({ key }) => key === verdict)?.name ?? visibleText(verdict)
}

/** Verdict counts, as a bar and a table. */
export function Verdicts({ batch }: { readonly batch: BatchView }): JSX.Element | null {
  const known = verdictsOf(batch.product)
  if (known.length === 0) return null
  const counted = known.map((verdict) => ({
    ...verdict,
    count: batch.verdicts[verdict.key] ?? 0,
  }))
  const total = counted.reduce((sum, { count }) => sum + count, 0)
  return (
    <Card title="What was found">
      <ShareBar title="Verdicts; the table below has the same figures." shares={counted} />
      <Disclosure summary="As a table">
        {() => (
          <Table
            caption="Verdicts"
            rows={counted}
            keyOf={({ key }) => key}
            columns={[
              { title: 'Verdict', isTight: true, cell: ({ name }) => name },
              { title: 'Rows', isNumber: true, cell: ({ count }) => format.number(count) },
              {
                title: 'Share',
                isNumber: true,
                cell: ({ count }) => (total === 0 ? '' : format.percent(count / total)),
              },
              { title: 'Meaning', cell: ({ meaning }) => meaning },
            ]}
          />
        )}
      </Disclosure>
    </Card>
  )
}
