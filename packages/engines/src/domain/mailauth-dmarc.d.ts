/** The part of mailauth that finds the DMARC record of a domain; its own types leave it out. */
declare module 'mailauth/lib/dmarc/get-dmarc-record.js' {
  /** Asks for TXT records; a missing name or record is an error with the code ENOTFOUND or ENODATA. */
  type TxtResolver = (name: string, type: string) => Promise<readonly (readonly string[])[]>
  interface DmarcRecord {
    readonly rr: string
    readonly p?: string
    readonly sp?: string
    readonly isOrgRecord: boolean
    readonly recordDomain: string
  }
  export default function getDmarcRecord(
    domain: string,
    resolver: TxtResolver,
    options?: { strict?: boolean },
  ): Promise<DmarcRecord | false>
}
