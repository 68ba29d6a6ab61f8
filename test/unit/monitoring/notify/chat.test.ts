/** A chat message is JSON with a text, in which nothing of the API can mention anybody. */
import { expect, test } from 'vitest'
import { chatBody } from '../../../../src/monitoring/notify/chat.js'

test('the text has its lines, and nothing that a chat reads as a mention or a link', () => {
  expect(JSON.parse(chatBody('first\n<!channel> <users/all> @here "x" & y\n'))).toEqual({
    text: 'first\n‹!channel› ‹users/all› @\u200bhere "x" & y',
  })
})
