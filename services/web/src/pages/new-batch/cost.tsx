import type { BatchPreview, RefusedRows } from '@plumbline/contract/batch-preview'
import type { JSX } from 'preact'
import { Skeleton, Card, Notice } from '../../components/page.tsx'
import { Facts, Table } from '../../components/table.tsx'
import { Foreign, visibleText } from '../../components/text.tsx'
import * as format from '../../format.ts'
import { rowFault } from '../../row-fault.ts'

const PARTS: Readonly<Record<string, string>> = {
  email: 'Email',
  phone: 'Phone',
  ip: 'IP',
  domain: 'Domain',
}

/** Cost of the batch, the balance after it, and the rows that are not charged. */
export function Cost({ preview }: { readonly preview: BatchPreview }): JSX.Element {
  const { rows, cost, refused, error } = preview
  if (rows === null || cost === null) {
    return (
      <Card title="Cost">
        {error === null ? (
          <>
            <p class="muted">Every row is being counted.</p>
            <Skeleton />
          </>
        ) : (
          <p class="muted">Shown once the fault above is corrected.</p>
        )}
      </Card>
    )
  }
  return (
    <Card title="Cost">
      <div>
        <div class="figure">{format.number(cost.credits)}</div>
        <div class="muted">credits at most</div>
      </div>
      {cost.balance_after < 0 && (
        <Notice tone="bad" actions={<a href="/app/credits">See plans and packs</a>}>
          This costs more than there is: {format.number(cost.credits)} credits are needed, and{' '}
          {format.number(cost.balance)} can be spent.
        </Notice>
      )}
      <Facts
        facts={[
          ['Balance now', format.number(cost.balance)],
          ['Balance after', format.number(cost.balance_after)],
          ['Charged rows', format.number(rows.billable)],
          ['Duplicates, free', format.number(rows.duplicate)],
          ...(rows.known === 0 ? [] : [['Known, free', format.number(rows.known)] as const]),
          ['Refused, free', format.number(rows.refused)],
          ['Blank, free', format.number(rows.blank)],
        ]}
      />
      <details class="details">
        <summary>How it adds up</summary>
        <Table
          caption="Cost by part"
          rows={cost.parts}
          keyOf={({ part }) => part}
          columns={[
            { title: 'Part', cell: ({ part }) => PARTS[part] ?? part },
            { title: 'Rows', isNumber: true, cell: ({ records }) => format.number(records) },
            { title: 'Each', isNumber: true, cell: ({ price }) => format.number(price) },
            { title: 'Credits', isNumber: true, cell: ({ credits }) => format.number(credits) },
          ]}
        />
        {cost.cap_discount > 0 && (
          <p class="muted small">
            Less {format.number(cost.cap_discount)}: a row never costs more than the product’s most.
          </p>
        )}
        {cost.sampled > 0 && (
          <p class="muted small">Less {format.number(cost.sampled)} that the sample has paid.</p>
        )}
      </details>
      {refused !== null && refused.length > 0 && <Refused refused={refused} />}
    </Card>
  )
}

function Refused({ refused }: { readonly refused: readonly RefusedRows[] }): JSX.Element {
  return (
    <details class="details">
      <summary>Why rows are refused</summary>
      <Table
        caption="Refused rows by reason"
        isStacked
        rows={refused}
        keyOf={({ reason }) => reason}
        columns={[
          { title: 'Reason', cell: ({ reason }) => visibleText(rowFault(reason)) },
          { title: 'Rows', isNumber: true, cell: ({ count }) => format.number(count) },
          {
            title: 'For example',
            cell: ({ examples }) => (
              <ul>
                {examples.map(({ row, cells }) => (
                  <li key={row}>
                    <span class="muted">Row {format.number(row)}: </span>
                    <Foreign text={cells.join(' · ')} clip />
                  </li>
                ))}
              </ul>
            ),
          },
        ]}
      />
    </details>
  )
}
