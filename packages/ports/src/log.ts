/** Where code tells the operator what happened, with fields; no subject is ever logged in clear. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
