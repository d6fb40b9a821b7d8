/** Outside production the page may offer a mailbox that catches the codes. */
export const hasMailbox = document.querySelector('meta[name="mailbox"]') !== null
