CREATE TABLE "chat_attachments" (
	"id" text PRIMARY KEY NOT NULL,
	"chat_id" text NOT NULL,
	"file_id" text NOT NULL,
	"data_source_id" text,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "chat_messages" ADD COLUMN "attachments" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "chats" ADD COLUMN "attachment_base_id" text;--> statement-breakpoint
ALTER TABLE "files" ADD COLUMN "private_to" text;--> statement-breakpoint
ALTER TABLE "knowledge_bases" ADD COLUMN "private_to" text;--> statement-breakpoint
ALTER TABLE "chat_attachments" ADD CONSTRAINT "chat_attachments_chat_id_chats_id_fk" FOREIGN KEY ("chat_id") REFERENCES "public"."chats"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "chat_attachments_by_chat" ON "chat_attachments" USING btree ("chat_id","id");