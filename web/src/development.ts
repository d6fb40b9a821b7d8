/** What the service says of itself in the page: outside production there may be a mailbox that catches the codes. */
export const hasMailbox = document.querySelector('meta[name="mailbox"]') !== null
