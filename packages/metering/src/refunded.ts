/**
 * SQL: whether the debit of a row was refunded, for a statement of another package that needs it in
 * the same snapshot. Only this package names the tables and functions of credits; others receive
 * this condition.
 *
 * @param row name or alias of a row with `account_id` and `op_key`
 */
export function isRefundedSql(row: string): string {
  return `credit_is_refunded(${row}.account_id, ${row}.op_key)`
}
