declare module 'tz-lookup' {
  /** IANA time zone at a place; throws a RangeError for degrees that are none. */
  const timezoneAt: (latitude: number, longitude: number) => string
  export default timezoneAt
}
