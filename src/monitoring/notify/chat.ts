/** A message for the incoming webhooks of Slack, Mattermost and Google Chat. */

/**
 * A text may quote the API. Without these characters no chat reads a mention of everybody or a link in it: Slack and
 * Google Chat write them as <!channel>, Mattermost as @channel.
 */
const HARMLESS: Readonly<Record<string, string>> = { '<': '‹', '>': '›', '@': '@\u200b' }

export const chatBody = (text: string): string =>
  JSON.stringify({ text: text.trimEnd().replaceAll(/[<>@]/g, (character) => HARMLESS[character] ?? '') })
