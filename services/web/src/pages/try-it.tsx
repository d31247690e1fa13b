import { checksOf, PRODUCT_PLANS, type Product } from '@plumbline/contract/products'
import { useQueryClient } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callJson } from '../api/http.ts'
import { useAnnounce } from '../components/announcer.tsx'
import { Button } from '../components/button.tsx'
import { Field, Form } from '../components/field.tsx'
import { Card, Notice, Page } from '../components/page.tsx'
import { ProductField } from '../components/product-field.tsx'
import { useMay } from '../session.tsx'
import { useSubmission } from '../submit.ts'
import { Answer } from './try-it/answer.tsx'
import { CallAsCode } from './try-it/call-as-code.tsx'
import { TestValues } from './try-it/test-values.tsx'
import { EXAMPLES, LABELS, type Lookup, type Values } from './try-it/values.ts'

/** A page for one lookup of any product, with its evidence, and the same call as code. */
export function TryIt(): JSX.Element {
  const queries = useQueryClient()
  const announce = useAnnounce()
  const mayChange = useMay('member')
  const [product, setProduct] = useState<Product>('email')
  const [values, setValues] = useState<Values>({})
  const [answered, setAnswered] = useState<Answered | null>(null)
  const { isBusy, fault, run, clear } = useSubmission()
  const body = bodyOf(product, values)
  // Another product may have been chosen while it was looked up.
  const answer = answered?.product === product ? answered.answer : null
  const lookUp = async (): Promise<void> => {
    setAnswered(null)
    const asked = { ...body, explain: true }
    setAnswered({ product, answer: await callJson<Lookup>('POST', `/v1/${product}`, asked) })
    announce('The answer is there.')
    for (const key of ['account', 'usage', 'ledger']) {
      void queries.invalidateQueries({ queryKey: [key] })
    }
  }
  return (
    <Page title="Try it" lead="One lookup at a time. It takes credits as a call of the API does.">
      <div class="columns">
        <Card title="What to look up">
          {!mayChange && (
            <Notice tone="warn">
              You may read this account, but not spend its credits. An owner can change your role.
            </Notice>
          )}
          <Form onSubmit={() => void run(lookUp)}>
            <ProductField
              value={product}
              onChange={(chosen) => {
                setProduct(chosen)
                setAnswered(null)
                clear()
              }}
            />
            {checksOf(product).map((check) => (
              <Field
                key={check}
                label={LABELS[check]}
                value={values[check] ?? ''}
                placeholder={EXAMPLES[check]}
                onInput={(value) => setValues({ ...values, [check]: value })}
                required={PRODUCT_PLANS[product].required === check}
                maxLength={1_000}
                {...(PRODUCT_PLANS[product].required === check ? {} : { hint: 'May be left out.' })}
              />
            ))}
            <Button kind="primary" type="submit" busy={isBusy} disabled={!mayChange}>
              Look up
            </Button>
          </Form>
        </Card>
        <Card title="Answer">
          {fault !== null && <Notice tone="bad">{fault}</Notice>}
          {answer === null && fault === null && (
            <p class="muted">
              {isBusy
                ? 'Asking. A slow mail server may take a while.'
                : 'The result appears here, with the evidence of each part.'}
            </p>
          )}
          {answer !== null && <Answer answer={answer} />}
        </Card>
        <Card title="The same call as code" wide>
          <CallAsCode product={product} body={body} />
        </Card>
        <Card title="Test values" wide>
          <TestValues product={product} />
        </Card>
      </div>
    </Page>
  )
}

/** The answer of a lookup, and the product that was asked for. */
interface Answered {
  readonly product: Product
  readonly answer: Lookup
}

/** The entered values that the product takes. */
function bodyOf(product: Product, values: Values): Values {
  return Object.fromEntries(
    checksOf(product).flatMap((check) => {
      const value = values[check]?.trim() ?? ''
      return value === '' ? [] : [[check, value]]
    }),
  )
}
