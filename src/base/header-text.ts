/** Whether HTTP can carry `text` as the value of a header (RFC 9110, section 5.5): visible ASCII, blanks and tabs. */
export const canBeHeader = (text: string): boolean => /^[\t\x20-\x7e]*$/.test(text)
