// Polls for new mail and adds it on top, shows only mail to one address, and copies codes.
const list = document.querySelector('#mails')
const to = document.querySelector('#to')
const found = document.querySelector('#found')

function update() {
  // XMLHttpRequest parses HTML natively; DOMParser is blocked by Trusted Types.
  const request = new XMLHttpRequest()
  request.open('GET', '/mailbox')
  request.responseType = 'document'
  request.onload = () => {
    if (request.status !== 200 || !request.response) return
    const mails = [...request.response.querySelectorAll('.mail')]
    const fresh = mails.filter((mail) => !document.getElementById(mail.id))
    if (fresh.length === 0) return
    document.querySelector('#none')?.remove()
    list.prepend(...fresh)
    filter()
  }
  request.onloadend = () => setTimeout(update, 2000)
  request.send()
}

function filter() {
  const wanted = to.value.trim().toLowerCase()
  const mails = [...document.querySelectorAll('.mail')]
  for (const mail of mails) mail.hidden = !mail.dataset.to.includes(wanted)
  const count = mails.filter(({ hidden }) => !hidden).length
  found.textContent = wanted === '' ? '' : count === 1 ? '1 mail' : `${count} mails`
}

document.addEventListener('click', async ({ target }) => {
  const { code } = target.dataset
  if (!code) return
  const words = target.textContent
  await navigator.clipboard?.writeText(code)
  target.textContent = 'Copied'
  setTimeout(() => {
    target.textContent = words
  }, 3000)
})

to.addEventListener('input', filter)
setTimeout(update, 2000)
