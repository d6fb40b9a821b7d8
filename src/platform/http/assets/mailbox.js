// Polls for new mail and adds it on top.
const list = document.querySelector('#mails')

function update() {
  // XMLHttpRequest parses HTML natively; DOMParser is blocked by Trusted Types.
  const request = new XMLHttpRequest()
  request.open('GET', '/mailbox')
  request.responseType = 'document'
  request.onload = () => {
    if (request.status !== 200 || !request.response) return
    const mails = [...request.response.querySelectorAll('.mail')]
    const fresh = mails.filter((mail) => !document.getElementById(mail.id))
    if (fresh.length > 0) document.querySelector('#none')?.remove()
    list.prepend(...fresh)
  }
  request.onloadend = () => setTimeout(update, 2000)
  request.send()
}

setTimeout(update, 2000)
